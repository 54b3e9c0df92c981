"""Which weights have to be loaded to play a team: one deployment per distinct weight folder.

Policies with the same full weights share a deployment; so do adapters on the same base. Nothing
here loads a model.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from components.errors import PolicyError
from components.policies import FolderRef, PolicyRef, Team


class Folders(Protocol):
    """The part of a store that engines need."""

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """The verified local folder of `ref`."""
        ...


@dataclass(frozen=True)
class Deployment:
    """One model in memory, and the policies that it answers for."""

    sha256: str
    """Of the weight folder: two deployments with the same digest are interchangeable."""
    folder: Path
    adapters: Mapping[str, Path]
    """Policy -> adapter folder; a policy with full weights is not in it."""
    refs: Mapping[str, PolicyRef]
    """Policy -> the version deployed."""
    max_length: int
    """Tokens that the model can attend to, prompt and answer together."""


def deploy(team: Team, store: Folders, cache: Path) -> list[Deployment]:
    """Fetch the folders of all policies that play a role, grouped by the weights they share."""
    groups: dict[str, dict[str, PolicyRef]] = {}
    for policy in dict.fromkeys(team.roles.values()):
        ref = team.policies[policy]
        groups.setdefault((ref.base or ref).sha256, {})[policy] = ref
    return [_deployment(digest, refs, store, cache) for digest, refs in groups.items()]


def _deployment(
    digest: str, refs: Mapping[str, PolicyRef], store: Folders, cache: Path
) -> Deployment:
    first = next(iter(refs.values()))
    folder = store.download_folder((first.base or first).folder, cache)
    adapters = {
        policy: store.download_folder(ref.folder, cache)
        for policy, ref in refs.items()
        if ref.base is not None
    }
    limit = read_json(folder / "config.json", first).get("max_position_embeddings")
    if not isinstance(limit, int):
        raise PolicyError(
            f"policy {first.tag}: config.json has no max_position_embeddings, got {limit!r}"
        )
    return Deployment(digest, folder, adapters, refs, limit)


def adapter_rank(deployment: Deployment, policy: str) -> int:
    """`r` of the policy's adapter. PolicyError if its adapter_config.json lacks it."""
    path = deployment.adapters[policy] / "adapter_config.json"
    rank = read_json(path, deployment.refs[policy]).get("r")
    if not isinstance(rank, int):
        raise PolicyError(
            f"policy {deployment.refs[policy].tag}: adapter_config.json has r = {rank!r}, "
            "expected an integer"
        )
    return rank


def read_json(path: Path, ref: PolicyRef) -> dict[str, Any]:
    """A JSON object of a policy's folder; PolicyError names the policy and the file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PolicyError(
            f"policy {ref.tag}: {path.name} cannot be read from {ref.uri}: {error}"
        ) from error
    if not isinstance(value, dict):
        raise PolicyError(
            f"policy {ref.tag}: {path.name} holds a {type(value).__name__}, expected an object"
        )
    return value
