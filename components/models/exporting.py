"""A team as a folder that other programs load: policies, tokenizers, a manifest, a page to read.

    team.json              who plays what, where it came from, on what evidence, prompts' digests
    README.md              how to load and serve it, licences
    policies/<policy>/     full weights with their tokenizer, or an adapter
    bases/<digest>/        the frozen bases of adapters, each once; none if adapters are merged

Nothing is evaluated or registered here.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from components.errors import PolicyError
from components.models import licences
from components.models.export_page import page
from components.models.tolerance import make_tolerant
from components.policies import PolicyRef, Team
from components.rollout.deployments import read_json
from components.storage import Store
from components.storage.disk import writing
from components.storage.folders import MANIFEST

MANIFEST_NAME = "team.json"
SCHEMA_VERSION = 1
Say = Callable[[str], None]


@dataclass(frozen=True)
class ExportedPolicy:
    """One policy of an exported team."""

    folder: str
    """Below the export, e.g. `policies/planner`."""
    base: str | None
    """Folder of the base that an adapter needs; None for full weights."""
    version: str
    """`PolicyRef.tag` of what was exported."""
    sha256: str
    """Of the policy as it is stored; a merged one is another folder."""
    merged: bool
    rank: int
    """Of an adapter; 0 for full weights."""
    max_length: int
    """Tokens of prompt and answer together, as in training."""
    licence: str


@dataclass(frozen=True)
class Export:
    """`team.json`."""

    team: str
    run: str
    iteration: int
    roles: dict[str, str]
    """role -> key of `policies`."""
    policies: dict[str, ExportedPolicy]
    dtype: str
    """While it plays."""
    envs: dict[str, dict[str, str]]
    """environment -> name, version, reward, digests of its options and prompts."""
    evaluation: dict[str, float] = field(default_factory=dict)
    gate: dict[str, Any] = field(default_factory=dict)
    tensor_parallel: int = 1
    """GPUs of each server, as in training."""
    quantization: str | None = None
    """Of the weights while they play, as in training."""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True)
class Wanted:
    """What shall be exported, and what is known of it."""

    team: Team
    store: Store
    cache: Path
    bases: Mapping[str, str]
    """policy -> where it began, as configured."""
    facts: Mapping[str, Any]
    """Fields of `Export` that are not about the weights."""
    max_length: int
    """As configured; a model that attends to less has less."""
    merge: bool = False
    role: str | None = None
    """Its policy alone; None: all."""


def export_team(wanted: Wanted, target: Path, say: Say = print) -> Export:
    """Write the export into `target`, whole or not at all.

    PolicyError if the target is taken or the role is unknown.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PolicyError(f"{target} is there already; name a folder that is new or empty")
    roles = _roles(wanted)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-")
    with scratch as name:
        folder = Path(name) / "export"
        policies = {
            policy: _policy(wanted, policy, folder, say) for policy in dict.fromkeys(roles.values())
        }
        made = Export(**wanted.facts, roles=roles, policies=policies)
        text = json.dumps(asdict(made), indent=1) + "\n"
        (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")
        (folder / "README.md").write_text(page(asdict(made)), encoding="utf-8")
        with writing(target):
            if target.exists():
                target.rmdir()
            os.replace(folder, target)
    return made


def _roles(wanted: Wanted) -> dict[str, str]:
    if wanted.role is None:
        return dict(wanted.team.roles)
    wanted.team.of(wanted.role)  # names the roles that there are
    return {wanted.role: wanted.team.roles[wanted.role]}


def _policy(wanted: Wanted, policy: str, folder: Path, say: Say) -> ExportedPolicy:
    ref = wanted.team.policies[policy]
    weights = ref.base or ref
    home = wanted.store.download_folder(weights.folder, wanted.cache)
    say(f"{policy}: {ref.tag}{' merged into its base' if ref.base and wanted.merge else ''}")
    place, base, rank = f"policies/{policy}", None, 0
    if ref.base is None:
        _copy(home, folder / place)
    else:
        adapter = wanted.store.download_folder(ref.folder, wanted.cache)
        if wanted.merge:
            _merge(home, adapter, folder / place)
        else:
            _copy(adapter, folder / place)
            base, rank = _base(weights, home, folder), _rank(adapter, ref)
    merged = ref.base is not None and wanted.merge
    length = min(wanted.max_length, _positions(home, weights))
    licence = licences.note(wanted.store, wanted.bases[policy], weights, home)
    return ExportedPolicy(place, base, ref.tag, ref.sha256, merged, rank, length, licence)


def _merge(home: Path, adapter: Path, target: Path) -> None:
    from components.update.conversion.merging import merge_adapter

    merge_adapter(home, adapter, target)
    (target / MANIFEST).unlink(missing_ok=True)  # the store's list of the base's files
    make_tolerant(target)


def _positions(home: Path, ref: PolicyRef) -> int:
    return int(read_json(home / "config.json", ref)["max_position_embeddings"])


def _rank(adapter: Path, ref: PolicyRef) -> int:
    return int(read_json(adapter / "adapter_config.json", ref)["r"])


def _base(weights: PolicyRef, home: Path, folder: Path) -> str:
    place = f"bases/{weights.sha256[:12]}"
    if not (folder / place).exists():
        _copy(home, folder / place)
    return place


def _copy(source: Path, target: Path) -> None:
    """All files but the store's own list; they may be written, which the store's may not."""
    for path in sorted(source.rglob("*")):
        copy = target / path.relative_to(source)
        if path.is_file() and path.name != MANIFEST:
            with writing(copy):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    make_tolerant(target)
