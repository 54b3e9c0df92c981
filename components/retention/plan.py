"""What is to happen to every folder of a store: decided from its references and its log. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from components.retention.uses import COLLECTED, Use
from components.storage.folders import MANIFEST
from components.storage.removal import LEASE_S, Action, Entry
from components.storage.unfinished import Unfinished


class Fate(StrEnum):
    """Of a folder or a leftover."""

    KEEP = "kept"
    UNMARK = "unmarked"
    """Kept: it was marked, and is referred to again."""
    MARK = "marked"
    """Removed by a later call, after the grace period, if nobody uses it until then."""
    WAIT = "waiting"
    """Marked before; the grace period is not over."""
    REMOVE = "removed"


@dataclass(frozen=True)
class Folder:
    """A folder as it lies in the store."""

    key: str
    bytes: int
    complete: bool
    """Whether its manifest is there: else an upload is under way, or was cut off."""


@dataclass(frozen=True)
class Item:
    """What happens to a folder, and why."""

    folder: Folder
    fate: Fate
    reason: str
    """Why it is kept, or what it was."""
    entry: Entry | None
    """The last of its log."""

    @property
    def kind(self) -> str:
        """`policies`, `optimizers`, or `cut-off uploads`."""
        return self.folder.key.partition("/")[0] if self.folder.complete else "cut-off uploads"


@dataclass(frozen=True)
class Note:
    """A small object that belongs to another: a policy's probe, a warm server's lease and door."""

    key: str
    bytes: int
    fate: Fate
    reason: str
    """What it belongs to, or belonged to."""

    @property
    def kind(self) -> str:
        """`probes` or `servers' notes`."""
        return "probes" if self.key.startswith("probes/") else "servers' notes"


@dataclass(frozen=True)
class Plan:
    """All of it."""

    items: Sequence[Item]
    leftovers: Sequence[tuple[Unfinished, Fate]]
    grace_s: float
    notes: Sequence[Note] = ()


@dataclass(frozen=True)
class Scope:
    """How far a call reaches, and what time it is."""

    run: str | None
    """Only what this run made; None: the whole store, with what nobody refers to."""
    now_unix_s: float
    grace_s: float

    def is_over(self, since_unix_s: float) -> bool:
        """Whether a grace period that began then has ended."""
        return self.now_unix_s - since_unix_s >= self.grace_s


def folders_in(sizes: Mapping[str, int]) -> list[Folder]:
    """The folders under the collected prefixes, from key -> bytes of all objects."""
    found: dict[str, list[tuple[str, int]]] = {}
    for key, size in sizes.items():
        prefix, *rest = key.split("/")
        if prefix in COLLECTED and len(rest) > 1:
            found.setdefault(f"{prefix}/{rest[0]}", []).append((key, size))
    return [
        Folder(key, sum(size for _, size in files), f"{key}/{MANIFEST}" in dict(files))
        for key, files in sorted(found.items())
    ]


def make_plan(
    folders: Iterable[Folder], uses: Iterable[Use], entries: Mapping[str, Entry],
    leftovers: Iterable[Unfinished], scope: Scope,
) -> Plan:  # fmt: skip
    """A fate for everything. `entries`: folder -> the last of its log."""
    by_folder: dict[str, list[Use]] = {}
    for use in uses:
        by_folder.setdefault(use.folder, []).append(use)
    items = [
        decide(folder, by_folder.get(folder.key, []), entries.get(folder.key), scope)
        for folder in folders
    ]
    found = [
        (left, Fate.REMOVE if scope.is_over(left.started_unix_s) else Fate.WAIT)
        for left in leftovers
        if scope.run is None
    ]
    return Plan(items, found, scope.grace_s)


def decide(folder: Folder, uses: Sequence[Use], entry: Entry | None, scope: Scope) -> Item:
    """The fate of one folder."""
    reasons = sorted({use.reason for use in uses if use.reason})
    if reasons:
        marked = entry is not None and entry.action is Action.MARKED
        return Item(folder, Fate.UNMARK if marked else Fate.KEEP, ", ".join(reasons), entry)
    if scope.run is not None and scope.run not in {use.run for use in uses}:
        return Item(folder, Fate.KEEP, "other runs, or none: see --all", entry)
    what = "; ".join(dict.fromkeys(use.what for use in uses)) or "nothing refers to it"
    return Item(folder, _fate(entry, scope), what, entry)


def _fate(entry: Entry | None, scope: Scope) -> Fate:
    """Of a folder that nothing keeps."""
    if entry is not None and entry.action is Action.REMOVING:
        dead = scope.now_unix_s - entry.unix_s >= LEASE_S
        return Fate.REMOVE if dead else Fate.WAIT
    if entry is not None and entry.action is Action.MARKED:
        return Fate.REMOVE if scope.is_over(entry.unix_s) else Fate.WAIT
    return Fate.MARK if scope.grace_s > 0 else Fate.REMOVE
