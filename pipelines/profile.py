"""Profiles: which image, resources and pod settings each step gets. Data in profiles/<name>.yaml,
or in a file of the user's.

A profile never changes what is computed, only where. Local runners ignore all of it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from components import images
from components.errors import ConfigError
from components.settings import NonNegative, Positive, Section

FOLDER = Path(__file__).parent / "profiles"
RUNTIMES: dict[str, str] = {
    images.CPU: "cpu",
    images.VLLM: "vllm",
    images.DEEPSPEED: "deepspeed",
    images.DRIVER: "driver",
}
"""Image constant of a component -> the runtime's name in a profile."""

Quantity = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(m|[EPTGMK]i?)?$")]
"""A Kubernetes quantity, e.g. `500m`, `2`, `4Gi`."""


_ADDED = ("env", "labels")


class Accelerator(Section):
    """Devices of one kind."""

    type: str = "nvidia.com/gpu"
    count: Positive = 1
    memory_gib: Annotated[float, Field(gt=0.0)] | None = None
    """Of one device; for `preflight` alone, as the next two."""
    peak_tflops: Annotated[float, Field(gt=0.0)] | None = None
    """Dense bfloat16, of one device."""
    price_per_hour: Annotated[float, Field(ge=0.0)] | None = None
    """Of one device, in your currency."""


class Toleration(Section):
    """A taint that the pod accepts."""

    key: str
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


AccountName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]
"""Of a service account in the namespace of the runs."""


class StepSettings(Section):
    """Pod settings of a step; None or empty: the cluster's default."""

    cpu: Quantity | None = None
    """Limit and request."""
    memory: Quantity | None = None
    """Limit and request."""
    accelerator: Accelerator | None = None
    retries: NonNegative = 0
    """Of the task; the driver retries whole iterations besides."""
    timeout_s: Positive | None = None
    node_selector: dict[str, str] = {}
    tolerations: list[Toleration] = []
    shm: Quantity | None = None
    """Size of an in-memory volume at /dev/shm."""
    env: dict[str, str] = {}
    """Added to those of the layers below, as `labels`; all else replaces what is below it."""
    secrets: dict[str, dict[str, str]] = {}
    """secret name -> key -> environment variable."""
    optional_secrets: dict[str, dict[str, str]] = {}
    """As `secrets`, but the pod starts without them too."""
    image_pull_secrets: list[str] = []
    labels: dict[str, str] = {}
    """Of the pod: for queues, quotas, and what a cluster injects by label."""


class TrainJobSettings(Section):
    """The training runtime of updates on several nodes (images/deepspeed/runtime)."""

    runtime: str = "rolewise-deepspeed"
    kind: Literal["TrainingRuntime", "ClusterTrainingRuntime"] = "TrainingRuntime"
    """TrainingRuntime: of the namespace of the runs."""


class Profile(Section):
    """Images per runtime, and settings: `defaults`, overlaid by `runtimes`, then by `steps`."""

    name: str
    pinned: bool = False
    """Whether images must be given by digest and results must lie where every pod reaches them."""
    service_account: AccountName | None = None
    """Of all pods; `submit` and the pipeline `training` ask for it, the UI's form has a field."""
    images: dict[str, str] = {}
    trainjob: TrainJobSettings = TrainJobSettings()
    defaults: StepSettings = StepSettings()
    runtimes: dict[str, StepSettings] = {}
    steps: dict[str, StepSettings] = {}

    @model_validator(mode="after")
    def _runtimes_are_known(self) -> "Profile":
        known = sorted(RUNTIMES.values())
        for key, names in (("images", self.images), ("runtimes", self.runtimes)):
            unknown = sorted(set(names) - set(known))
            if unknown:
                raise ValueError(f"{key} has {unknown}; known: {known}")
        return self

    def settings(self, step: str, runtime: str) -> StepSettings:
        """What one step gets: the most specific value that was written; of env and labels, for
        each name."""
        layers = [self.defaults, self.runtimes.get(runtime), self.steps.get(step)]
        written: dict[str, Any] = {}
        for layer in layers:
            values = layer.model_dump(exclude_unset=True) if layer else {}
            merged = {key: {**written.get(key, {}), **values.get(key, {})} for key in _ADDED}
            written |= values | {key: value for key, value in merged.items() if value}
        return StepSettings.model_validate(written)

    def with_account(self, name: str | None, source: str = "--service-account") -> "Profile":
        """The profile with another service account; ConfigError if it cannot be a name."""
        if name is None:
            return self
        try:
            TypeAdapter(AccountName).validate_python(name)
        except ValidationError:
            raise ConfigError(
                f"{source} {name!r}: expected a name such as rolewise-runner: lower case "
                "letters, digits, '-' and '.'"
            ) from None
        return self.model_copy(update={"service_account": name})


def profile_names() -> list[str]:
    """Names of the profiles that come with the project."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_profile(name: str, steps: Mapping[str, object] | None = None) -> Profile:
    """The profile of that name, or in the file of that name if it ends in .yaml.

    ConfigError lists the known names, keys or steps.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if path.parent == FOLDER and path.stem not in profile_names():
        known = ", ".join(profile_names())
        raise ConfigError(f"profile {name!r} is unknown; known: {known}, or a file ending in .yaml")
    try:
        return parse_profile(path.stem, yaml.safe_load(path.read_text()), steps)
    except OSError as error:
        raise ConfigError(f"profile {name!r} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"profile {name!r}: not YAML: {' '.join(str(error).split())}") from error


def parse_profile(name: str, content: Any, steps: Mapping[str, object] | None = None) -> Profile:
    """Check a profile's content against the schema, and its `steps` against the known steps."""
    if not isinstance(content, dict):
        raise ConfigError(f"profile {name}: expected a mapping, got {type(content).__name__}")
    try:
        profile = Profile.model_validate({"name": name, **content})
    except ValidationError as error:
        raise ConfigError("\n".join(_sentence(name, fault) for fault in error.errors())) from error
    unknown = sorted(set(profile.steps) - set(steps)) if steps is not None else []
    if steps is not None and unknown:
        raise ConfigError(f"profile {name}: steps {unknown} are unknown; known: {sorted(steps)}")
    return profile


def _sentence(name: str, fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"]) or "profile"
    if fault["type"] != "extra_forbidden":
        return f"profile {name}: {where}: {fault['msg'].removeprefix('Value error, ')}"
    models: dict[int, type[Section]] = {1: Profile}
    fields = models.get(len(fault["loc"]), StepSettings).model_fields
    if "accelerator" in fault["loc"][:-1]:
        fields = Accelerator.model_fields
    if "tolerations" in fault["loc"][:-1]:
        fields = Toleration.model_fields
    return f"profile {name}: {where}: unknown key; known: {', '.join(sorted(fields))}"
