"""The audit log: who made which team the champion, when, from what, on what evidence.

One object per entry, `teams/<team>/audit/000001.json`, created and never replaced. An entry is
written before aliases move; a move that failed is followed by an entry `failed`.
"""

import getpass
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from components.errors import StorageError
from components.storage import Store

SCHEMA_VERSION = 1
_ATTEMPTS = 100


class Action(StrEnum):
    """What happened to the alias `champion`."""

    PROMOTED = "promoted"
    REFUSED = "refused"
    """The gate said no: no alias moved."""
    FAILED = "failed"
    """The registry failed: the move of the same `key` did not happen."""
    ROLLED_BACK = "rolled_back"
    REPAIRED = "repaired"
    """The aliases were not where the log says, and a rollback put them back to its champion."""
    REOPENED = "reopened"
    """A person asks anew about a team whose promotion was undone: the decision of the same `key`
    stands no longer."""


@dataclass(frozen=True)
class Entry:
    """One line of the log."""

    action: Action
    key: str
    """What it is about: `<run>/<iteration>/<report digest>`; else `rollback/<number>` or
    `repair/<number>`."""
    before: dict[str, Any] | None
    """The champion before: `label` and `versions`; None if there was none."""
    after: dict[str, Any]
    """The team in question: `label` and `versions` (registered model -> version)."""
    metrics: dict[str, float] = field(default_factory=dict)
    gate: dict[str, Any] = field(default_factory=dict)
    who: str = ""
    when: str = ""
    """UTC, ISO 8601."""
    number: int = 0
    """From 1; given by `append`."""
    schema_version: int = SCHEMA_VERSION


def append(store: Store, team: str, entry: Entry) -> Entry:
    """Write the next entry; several writers get different numbers. Returns it as written."""
    number = next_number(history(store, team)) - 1
    for _ in range(_ATTEMPTS):
        number += 1
        if written := append_as(store, team, entry, number):
            return written
    raise StorageError(f"{store.uri}/{_prefix(team)}: {_ATTEMPTS} numbers from {number} are taken")


def append_as(store: Store, team: str, entry: Entry, number: int) -> Entry | None:
    """Write the entry with this number, for what holds only as long as no other was written; None
    if somebody else has it."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    values = asdict(entry) | {"number": number, "when": when, "who": entry.who or who()}
    data = json.dumps(values, indent=1, sort_keys=True).encode()
    return _entry(values) if store.create(f"{_prefix(team)}{number:06d}.json", data) else None


def history(store: Store, team: str) -> list[Entry]:
    """All entries, oldest first."""
    return [_read(store, key) for key in store.list(_prefix(team))]


def next_number(entries: list[Entry]) -> int:
    """Of the entry that follows these."""
    return entries[-1].number + 1 if entries else 1


def missing(entries: list[Entry]) -> list[int]:
    """Numbers before the last that no entry has: objects that were lost, for none is removed."""
    return sorted(set(range(1, next_number(entries))) - {entry.number for entry in entries})


def find(entries: list[Entry], key: str) -> Entry | None:
    """The decision that stands for a key; None if there is none or its move failed."""
    about = [entry for entry in entries if entry.key == key]
    return about[-1] if about and about[-1].action in (Action.PROMOTED, Action.REFUSED) else None


def decision_key(run: str, iteration: int, report: bytes) -> str:
    """The name of the decision about an evaluation: asked twice, it is decided once."""
    return f"{run}/{iteration}/{hashlib.sha256(report).hexdigest()[:12]}"


def undone(entries: list[Entry], key: str) -> Entry | None:
    """What moved `champion` after the promotion that stands for a key; None if nothing did, or no
    promotion stands."""
    standing = find(entries, key)
    if standing is None or standing.action is not Action.PROMOTED:
        return None
    return later_champion(entries, standing.number)


def later_champion(entries: list[Entry], number: int) -> Entry | None:
    """The first entry after `number` that moved `champion`; None if that one is the last."""
    return next((entry for entry in _moves(entries) if entry.number > number), None)


def champions(entries: list[Entry]) -> list[dict[str, Any]]:
    """The line of champions that a rollback goes back along; the last is the present one."""
    line: list[dict[str, Any]] = []
    for entry in _moves(entries):
        if entry.action is Action.PROMOTED:
            line.append(entry.after)
        elif line:
            line.pop()
    return line


def champion(entries: list[Entry]) -> dict[str, Any] | None:
    """The present one as the last move says, also where earlier entries are lost."""
    moves = _moves(entries)
    return moves[-1].after if moves else None


def pending(entries: list[Entry], versions: Mapping[str, str] | None) -> Entry | None:
    """The last move, if the aliases, which name `versions`, are still where it found them, or
    nowhere: it is under way, or was cut short. None if they are elsewhere, as after moves that
    another store's log has."""
    moves = _moves(entries)
    if not moves or versions == moves[-1].after["versions"]:
        return None
    before = moves[-1].before
    found_there = versions is None or (before and versions == before["versions"])
    return moves[-1] if found_there else None


def _moves(entries: list[Entry]) -> list[Entry]:
    """The entries that moved `champion`; a failed move takes its own entry with it, and no earlier
    one that was about the same."""
    moves: list[Entry] = []
    for entry in entries:
        if entry.action in (Action.PROMOTED, Action.ROLLED_BACK):
            moves.append(entry)
        elif entry.action is Action.FAILED:
            last = max((at for at, move in enumerate(moves) if move.key == entry.key), default=None)
            moves = [move for at, move in enumerate(moves) if at != last]
    return moves


def _prefix(team: str) -> str:
    return f"teams/{team}/audit/"


def _read(store: Store, key: str) -> Entry:
    """One entry. StorageError names the object that is none."""
    where = f"{store.uri}/{key}"
    try:
        values = json.loads(store.read(key))
        version = values["schema_version"]
        if version == SCHEMA_VERSION:
            return _entry(values)
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{where}: no entry of the audit log ({type(error).__name__}: {error}); expected what "
            "was written once and is never changed: put it back from a backup of the store"
        ) from error
    raise StorageError(
        f"{where}: schema_version {version!r}, expected {SCHEMA_VERSION}; a later version of this "
        "software wrote it"
    )


def _entry(values: Mapping[str, Any]) -> Entry:
    entry = Entry(**{**values, "action": Action(values["action"])})
    for side in (entry.after, *([] if entry.before is None else [entry.before])):
        if not isinstance(side["label"], str) or not isinstance(side["versions"], dict):
            raise TypeError(f"{side} has no label and versions")
    if not isinstance(entry.gate, dict) or not isinstance(entry.metrics, dict):
        raise TypeError(f"gate {entry.gate!r} or metrics {entry.metrics!r} are no mapping")
    return entry


def who() -> str:
    """ROLEWISE_USER, else the login name, else the user's number (pods have no name)."""
    given = os.environ.get("ROLEWISE_USER")
    if given:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # neither a variable nor an entry in the system's list of users
        return f"uid:{os.getuid()}"
