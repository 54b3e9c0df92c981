"""The typed experiment configuration: YAML, checked by pydantic, unknown keys are errors.

The resolved configuration is a value: its digest names the run, and it is baked into the
compiled pipeline. It holds no paths of a machine beyond what the user wrote.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from components.errors import ConfigError
from components.mixture import MemberConfig, MemberName, check_names, check_players
from components.settings import (
    EnvConfig,
    EvaluationConfig,
    GroupingConfig,
    PolicyConfig,
    Positive,
    PromotionConfig,
    RolloutConfig,
    Section,
    Seed,
    StorageConfig,
    TrackingConfig,
    UpdateConfig,
    WarmStartConfig,
)

MAX_BYTES = 8192
"""Of the resolved configuration as compact JSON: a constant in the compiled pipeline."""
_TRACKING = r"(https?|file|sqlite|(postgresql|mysql|mssql)(\+\w+)?)://|databricks|uc:"

OPEN_ENDED = 100_000
"""Iterations of a run that something else ends, such as the sampling budget of a study."""
NOT_IN_DIGEST = ("iterations", "storage", "tracking")
"""How far a run goes and where its results are kept: may change while it goes on."""
_NOT_DECISIVE = {"rollout": {"env_workers", "server"}, "promotion": {"model_registry_url"}}
"""Section -> what of it changes the speed alone."""


class ExperimentConfig(Section):
    """One experiment: environments, a team and how it is trained."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")]
    seed: Seed = 0
    iterations: Positive = 10
    """The total: a finished run can be extended."""
    env: EnvConfig | None = None
    """The environment; or, instead of it:"""
    envs: dict[MemberName, MemberConfig] = {}
    """Several environments by name, with their weights: see components/mixture.py."""
    policies: Annotated[dict[str, PolicyConfig], Field(min_length=1)]
    roles: Annotated[dict[str, str], Field(min_length=1)]
    """role -> policy. The environments' roles, in any order."""
    rollout: RolloutConfig = RolloutConfig()
    grouping: GroupingConfig = GroupingConfig()
    update: UpdateConfig = UpdateConfig()
    warm_start: WarmStartConfig | None = None
    evaluation: EvaluationConfig = EvaluationConfig()
    promotion: PromotionConfig = PromotionConfig()
    storage: StorageConfig = StorageConfig()
    tracking: TrackingConfig = TrackingConfig()

    @model_validator(mode="after")
    def _roles_have_policies(self) -> "ExperimentConfig":
        for role, policy in self.roles.items():
            if policy not in self.policies:
                raise ValueError(
                    f"roles.{role} is {policy!r}; expected one of {sorted(self.policies)}"
                )
        unused = sorted(set(self.policies) - set(self.roles.values()))
        if unused:
            raise ValueError(f"policies {unused} are played by no role")
        if not any(policy.trainable for policy in self.policies.values()):
            raise ValueError("no policy is trainable: there is nothing to train")
        return self

    @model_validator(mode="after")
    def _environments_are_given(self) -> "ExperimentConfig":
        if self.env is None and not self.envs:
            raise ValueError("env: missing; expected `env`, or several with weights in `envs`")
        if self.env is not None and self.envs:
            raise ValueError("env and envs are both given; expected one of them")
        check_names(self.envs)
        check_players(self.envs, self.roles)
        return self

    @model_validator(mode="after")
    def _environments_stay_apart(self) -> "ExperimentConfig":
        if len(self.envs) > 1 and "task" not in self.grouping.key:
            raise ValueError(
                f"grouping.key {self.grouping.key} would compare rewards of different "
                f"environments; with several in `envs` expected a key with 'task'"
            )
        for name, benchmark in self.evaluation.benchmarks.items():
            if self.envs and benchmark.env is None:
                raise ValueError(
                    f"evaluation.benchmarks.{name}.env: missing; expected one of "
                    f"{sorted(self.envs)}, or another environment"
                )
        return self

    @model_validator(mode="after")
    def _credit_has_episodes(self) -> "ExperimentConfig":
        if self.grouping.credit == "episode" and self.rollout.sampling != "parallel":
            raise ValueError(
                "grouping.credit is 'episode' and rollout.sampling 'tree', where most candidates "
                "begin no episode of their own; expected `sampling: parallel`, or `credit: answer`"
            )
        return self

    @model_validator(mode="after")
    def _answers_fit(self) -> "ExperimentConfig":
        answer = self.rollout.max_new_tokens
        for name, policy in self.policies.items():
            positions = policy.init and policy.init.max_position_embeddings
            if positions and answer >= positions:
                raise ValueError(
                    f"rollout.max_new_tokens {answer} leaves no room for a prompt; expected less "
                    f"than policies.{name}.init.max_position_embeddings {positions}"
                )
        return self

    @model_validator(mode="after")
    def _places_are_known(self) -> "ExperimentConfig":
        if not re.match(r"(file|s3)://.", self.storage.uri):
            raise ValueError(
                f"storage.uri {self.storage.uri!r}: expected file://folder or s3://bucket/prefix"
            )
        uri = self.tracking.uri
        if uri is not None and not re.match(_TRACKING, uri):
            raise ValueError(
                f"tracking.uri {uri!r}: expected an MLflow server (https://...) or a database, "
                "such as sqlite:///build/mlflow.db"
            )
        return self

    @model_serializer(mode="wrap")
    def _without_the_other_form(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Of `env` and `envs` only what is given."""
        content: dict[str, Any] = handler(self)
        return {
            key: value
            for key, value in content.items()
            if not (key == "envs" and not value) and not (key == "env" and value is None)
        }

    @property
    def environments(self) -> dict[str, MemberConfig]:
        """Name -> settings: all of `envs`, by name, or `env` under its registered name.

        Sorted, as the baked-in JSON is: no result depends on the order in a file.
        """
        if self.env is None:
            return dict(sorted(self.envs.items()))
        return {self.env.name: MemberConfig(**self.env.model_dump())}

    @property
    def env_names(self) -> str:
        """For people: `plan_path`, or `plan_path + sokoban`."""
        return " + ".join(self.environments)

    @property
    def team_name(self) -> str:
        """The registered team's name."""
        return self.promotion.team or self.name

    @property
    def trainable(self) -> list[str]:
        """Names of the policies that are updated, in the configuration's order."""
        return [name for name, policy in self.policies.items() if policy.trainable]

    def to_json(self) -> str:
        """Compact JSON of the resolved configuration."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def digest(self) -> str:
        """sha256 of everything that decides the result, so without NOT_IN_DIGEST.

        Values that are the default count as absent: a key that a later version adds changes the
        name of no run.
        """
        content = decisive(self.model_dump(mode="json", exclude_defaults=True))
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def decisive(content: Mapping[str, Any]) -> dict[str, Any]:
    """What of a resolved configuration decides the result."""
    kept = {name: value for name, value in content.items() if name not in NOT_IN_DIGEST}
    for name, keys in _NOT_DECISIVE.items():
        section = {key: value for key, value in kept.pop(name, {}).items() if key not in keys}
        if section:
            kept[name] = section
    return kept


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> ExperimentConfig:
    """Read a YAML file and apply dotted overrides such as `rollout.num_candidates=8`.

    Raises ConfigError: one line per fault with the key, the value and what was expected.
    """
    try:
        content = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(
            f"{path}: expected a mapping of keys at the top, got {type(content).__name__}"
        )
    for override in overrides:
        _apply(content, override)
    return parse_config(content, str(path))


def parse_config(
    content: str | Mapping[str, Any], source: str = "configuration"
) -> ExperimentConfig:
    """Check a mapping or the JSON that `to_json` wrote. ConfigError as in `load_config`."""
    try:
        values = json.loads(content) if isinstance(content, str) else content
        config = ExperimentConfig.model_validate(values)
    except ValidationError as error:
        raise ConfigError(
            "\n".join(f"{source}: {sentence(fault)}" for fault in error.errors())
        ) from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"{source}: not JSON: {error}") from error
    size = len(config.to_json().encode())
    if size > MAX_BYTES:
        raise ConfigError(
            f"{source}: resolved configuration has {size} bytes, expected at most {MAX_BYTES}; "
            "take fewer policies and benchmarks, or shorten env.options"
        )
    return config


def _apply(content: dict[str, Any], override: str) -> None:
    key, separator, text = override.partition("=")
    if not separator or not key:
        raise ConfigError(f"--set {override!r}: expected key.subkey=value")
    *parents, last = key.split(".")
    target = content
    for parent in parents:
        if target.get(parent) is None:
            target[parent] = {}
        target = target[parent]
        if not isinstance(target, dict):
            raise ConfigError(f"--set {override!r}: {parent!r} is a value, not a section")
    try:
        target[last] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"--set {override!r}: not YAML: {' '.join(str(error).split())}"
        ) from error


def sentence(fault: Any) -> str:
    """`rollout.num_turns: Input should be greater than ..., got 0` in one line."""
    where = "".join(f"{part}." for part in fault["loc"]).removesuffix(".")
    reason = fault["msg"].removeprefix("Value error, ")
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{where}: unknown key"
    if fault["type"] == "missing":
        return f"{where}: missing"
    if isinstance(fault["input"], (str, int, float, bool)):
        reason += f", got {fault['input']!r}"
    reason = " ".join(reason.split())
    return f"{where}: {reason}" if where else reason
