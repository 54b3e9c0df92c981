"""The team manifest: which version of which policy plays which role, and on what evidence.

Roles learn together, so their versions are pinned together; nothing is promoted but a whole team.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.policies import PolicyRef, Team
from components.tracking.description import digest, git_commit

SCHEMA_VERSION = 1


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
    """`name`, `version` and `options_digest`: they fix prompts and rules."""
    config_digest: str
    git_commit: str | None
    evaluation: dict[str, float]
    """`<benchmark>/<name>` -> value."""
    gate: dict[str, Any]
    """The gate's verdict, see components/promotion."""
    versions: dict[str, str]
    """registered model -> version; empty until registered."""
    schema_version: int = SCHEMA_VERSION

    @property
    def playing(self) -> Team:
        """The team as the engines take it."""
        return Team(self.policies, self.roles)

    @property
    def label(self) -> str:
        """Short and readable: `<run>@<iteration>`."""
        return f"{self.run}@{self.iteration}"

    def to_json(self) -> str:
        """Compact JSON; `from_json` is its inverse."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "TeamManifest":
        """Raise TrackingError for another schema version or a missing field."""
        values = json.loads(text)
        if values.get("schema_version") != SCHEMA_VERSION:
            raise TrackingError(
                f"team manifest: schema_version {values.get('schema_version')!r}, "
                f"expected {SCHEMA_VERSION}"
            )
        try:
            refs = {name: PolicyRef.from_json(ref) for name, ref in values["policies"].items()}
            return TeamManifest(**{**values, "policies": refs})
        except (KeyError, TypeError) as error:
            raise TrackingError(
                f"team manifest: bad field {error}; got {sorted(values)}"
            ) from error


def make_manifest(
    config: ExperimentConfig,
    run: str,
    iteration: int,
    policies: Mapping[str, PolicyRef],
    env_version: str,
    evaluation: Mapping[str, float],
    gate: Mapping[str, Any],
) -> TeamManifest:
    """The manifest of a team that is not registered yet."""
    env = {
        "name": config.env.name,
        "version": env_version,
        "options_digest": digest(config.env.options),
        "reward": config.env.reward,
    }
    bases = {name: policy.base for name, policy in config.policies.items()}
    return TeamManifest(
        config.team_name, run, iteration, dict(policies), dict(config.roles), bases, env,
        config.digest(), git_commit(), dict(evaluation), dict(gate), {},
    )  # fmt: skip
