"""References to policies in object storage, and which role is played by which policy.

A policy is a Hugging Face folder (safetensors, with its tokenizer) or a PEFT adapter on a base.
Only the reference travels between steps; the bytes stay in object storage under their digest.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from components.errors import PolicyError


@dataclass(frozen=True)
class FolderRef:
    """A folder in object storage, named by its content."""

    uri: str
    """Where it lies, e.g. `file:///.../policies/<sha256>` or `s3://bucket/prefix/policies/<sha256>`."""
    sha256: str
    """Digest of the folder's manifest: every file's path, size and digest."""
    bytes: int


@dataclass(frozen=True)
class PolicyRef:
    """One version of one policy."""

    name: str
    version: int
    """The iteration that made it; 0 is the start."""
    uri: str
    sha256: str
    bytes: int
    base: "PolicyRef | None" = None
    """The frozen base that an adapter was trained on; None for full weights."""

    @property
    def tag(self) -> str:
        """Short unambiguous label, written into every sample: `<name>@<version>-<digest>`."""
        return f"{self.name}@{self.version}-{self.sha256[:12]}"

    @property
    def folder(self) -> FolderRef:
        """Where its files are."""
        return FolderRef(self.uri, self.sha256, self.bytes)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `from_json` is its inverse."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "PolicyRef":
        """Raise PolicyError naming a missing or unknown field."""
        try:
            base = value["base"]
            fields = {**value, "base": PolicyRef.from_json(base) if base else None}
            return PolicyRef(**fields)
        except (KeyError, TypeError) as error:
            raise PolicyError(
                f"policy reference: bad field {error}; got {sorted(value)}"
            ) from error


@dataclass(frozen=True)
class Team:
    """All that plays: the policies and who plays what. Several roles may share one policy."""

    policies: Mapping[str, PolicyRef]
    roles: Mapping[str, str]
    """role -> key of `policies`."""

    def __post_init__(self) -> None:
        for role, policy in self.roles.items():
            if policy not in self.policies:
                known = ", ".join(sorted(self.policies)) or "none"
                raise PolicyError(
                    f"role {role!r} is mapped to policy {policy!r}; known policies: {known}"
                )

    def of(self, role: str) -> PolicyRef:
        """The policy version that plays a role."""
        if role not in self.roles:
            raise PolicyError(
                f"role {role!r} has no policy; roles with one: {', '.join(sorted(self.roles))}"
            )
        return self.policies[self.roles[role]]


def swapped(team: Team) -> Team:
    """The same policies, each playing the next role (a cyclic shift): paper, Plan-Path ablation.

    Raises PolicyError if two roles share a policy: then nothing would be exchanged.
    """
    roles = list(team.roles)
    used = [team.roles[role] for role in roles]
    if len(set(used)) < len(used) or len(used) < 2:
        raise PolicyError(
            f"swapped policies need a policy of its own per role; got {dict(team.roles)}"
        )
    return replace(team, roles={role: used[(i + 1) % len(used)] for i, role in enumerate(roles)})
