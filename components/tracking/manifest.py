"""The team manifest: which version of which policy plays which role, and on what evidence.

Roles learn together, so their versions are pinned together; nothing is promoted but a whole team.
With them is pinned all that decides how they play: bases, tokenizers, chat templates, prompts.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.policies import PolicyRef, Team
from components.settings import StorageConfig
from components.tracking.description import git_commit

SCHEMA_VERSION = 2
READABLE = (1, 2)
"""Version 1 has no `pins`, `envs` and `storage`."""


@dataclass(frozen=True)
class PolicyPin:
    """What a policy was made of and reads and writes with: digests of its base's files."""

    base: str
    """Of the weights that training began with; of an adapter's frozen base."""
    tokenizer: str
    """Of the tokenizer's files together."""
    chat_template: str


@dataclass(frozen=True)
class TeamManifest:
    """One team, complete: enough to load and play it, and to say where it came from."""

    team: str
    """The registered model's name; those of the roles are `<team>.<role>`."""
    run: str
    iteration: int
    policies: dict[str, PolicyRef]
    roles: dict[str, str]
    """role -> key of `policies`."""
    bases: dict[str, str]
    """policy -> where it began, as configured."""
    env: dict[str, str]
    """`name`, `version`, `options_digest`, `reward`; of several environments, joined."""
    config_digest: str
    git_commit: str | None
    evaluation: dict[str, float]
    """`<benchmark>/<name>` -> value."""
    gate: dict[str, Any]
    """The gate's verdict, see components/promotion."""
    versions: dict[str, str]
    """registered model -> version; empty until registered."""
    pins: dict[str, PolicyPin] = field(default_factory=dict)
    """policy -> its base, tokenizer and chat template; empty in version 1."""
    envs: dict[str, dict[str, str]] = field(default_factory=dict)
    """environment -> `env` of it, with `prompts`: the digest of what its roles read in pinned
    states; empty in version 1."""
    storage: dict[str, Any] = field(default_factory=dict)
    """Where the policies and the audit log are: `uri`, and how an S3 server is reached."""
    schema_version: int = SCHEMA_VERSION

    @property
    def playing(self) -> Team:
        """The team as the engines take it."""
        return Team(self.policies, self.roles)

    @property
    def label(self) -> str:
        """Short and readable: `<run>@<iteration>`."""
        return f"{self.run}@{self.iteration}"

    def model(self, role: str) -> str:
        """The registered model of a role."""
        return f"{self.team}.{role}"

    @property
    def store(self) -> StorageConfig:
        """The storage that the team lies in; credentials come by the usual chain."""
        if self.storage:
            return StorageConfig(**self.storage)
        first = next(iter(self.policies.values()))
        return StorageConfig(uri=first.uri.rpartition("/policies/")[0])

    def to_json(self) -> str:
        """Compact JSON; `from_json` is its inverse."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "TeamManifest":
        """Raise TrackingError for another schema version or a missing field."""
        try:
            values = json.loads(text)
            version = values.get("schema_version")
        except (ValueError, AttributeError) as error:
            raise TrackingError(f"team manifest: not a JSON object: {error}") from error
        if version not in READABLE:
            raise TrackingError(
                f"team manifest: schema_version {version!r}, expected one of {READABLE}"
            )
        try:
            refs = {name: PolicyRef.from_json(ref) for name, ref in values["policies"].items()}
            pins = {name: PolicyPin(**pin) for name, pin in values.get("pins", {}).items()}
            numbers = {name: float(value) for name, value in values["evaluation"].items()}
            read = {"policies": refs, "pins": pins, "evaluation": numbers}
            return _checked(TeamManifest(**(values | read)))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise TrackingError(
                f"team manifest: bad field {error}; got {sorted(values)}"
            ) from error


def _checked(manifest: TeamManifest) -> TeamManifest:
    """ValueError naming the field that is not what the others need."""
    for name in ("roles", "bases", "env", "versions"):
        value = getattr(manifest, name)
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise ValueError(f"{name}: {value!r}, expected names and strings")
    for name in ("gate", "envs", "storage"):
        if not isinstance(getattr(manifest, name), dict):
            raise ValueError(f"{name}: {getattr(manifest, name)!r}, expected a mapping")
    unknown = sorted(set(manifest.roles.values()) - set(manifest.policies))
    if unknown:
        raise ValueError(f"roles: policies {unknown}, expected some of {sorted(manifest.policies)}")
    return manifest


def make_manifest(
    config: ExperimentConfig,
    run: str,
    iteration: int,
    policies: Mapping[str, PolicyRef],
    pins: Mapping[str, PolicyPin],
    envs: Mapping[str, Mapping[str, str]],
    evaluation: Mapping[str, float],
    gate: Mapping[str, Any],
) -> TeamManifest:
    """The manifest of a team that is not registered yet."""
    names = ("name", "version", "options_digest", "reward")
    env = {name: " + ".join(of[name] for of in envs.values()) for name in names}
    bases = {name: policy.base for name, policy in config.policies.items()}
    where = config.storage.model_dump(include={"uri", "endpoint_url", "region", "path_style"})
    return TeamManifest(
        config.team_name, run, iteration, dict(policies), dict(config.roles), bases, env,
        config.digest(), git_commit(), dict(evaluation), dict(gate), {}, dict(pins),
        {name: dict(of) for name, of in envs.items()}, where,
    )  # fmt: skip
