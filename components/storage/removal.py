"""How a folder leaves a store while others use it: marked, given time, removed; or kept after all.

A folder has a log, `gc/folders/<prefix>/<digest>/000001.json` and so on. Entries are created, never
replaced, and of several writers of the next number one wins: so a remover and a user never both
believe that they decided. Whoever uploads or downloads a marked folder keeps it by an entry; a
folder that is being removed is waited for. Why something is marked is the caller's affair.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from components.errors import StorageError

LOGS = "gc/folders/"
LEASE_S = 900.0
"""A removal that takes longer is taken to be dead; the remover itself stops at a third of it."""
POLL_S = 1.0


class Action(StrEnum):
    """What happened to a folder."""

    MARKED = "marked"
    """Nothing refers to it: it may be removed after the grace period."""
    KEPT = "kept"
    """It was used, or something refers to it again."""
    REMOVING = "removing"
    """Its objects are being deleted, the manifest first."""
    REMOVED = "removed"


GONE = (Action.REMOVING, Action.REMOVED)


@dataclass(frozen=True)
class Entry:
    """One entry of a folder's log."""

    action: Action
    unix_s: float
    why: str
    number: int

    @property
    def when(self) -> str:
        """UTC, to the minute."""
        return datetime.fromtimestamp(self.unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


class Objects(Protocol):
    """What removal needs of a store."""

    def read(self, key: str) -> bytes:
        """The object."""
        ...

    def create(self, key: str, data: bytes) -> bool:
        """Write if the key is free."""
        ...

    def list(self, prefix: str) -> "list[str]":
        """All keys that begin with the text."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object."""
        ...


def last(store: Objects, folder: str) -> Entry | None:
    """The folder's last entry; None if it was never marked. `folder` is `policies/<digest>`."""
    keys = store.list(f"{LOGS}{folder}/")
    return read(store, keys[-1]) if keys else None


def last_keys(store: Objects) -> dict[str, str]:
    """Folder -> key of its last entry, for all folders that have a log; for `read`."""
    keys = store.list(LOGS)  # sorted: of one folder the last stands
    return {key.removeprefix(LOGS).rpartition("/")[0]: key for key in keys}


def read(store: Objects, key: str) -> Entry:
    """The entry at a key."""
    values = json.loads(store.read(key))
    number = int(key.rpartition("/")[2].removesuffix(".json"))
    return Entry(Action(values["action"]), float(values["unix_s"]), values["why"], number)


def append(store: Objects, folder: str, action: Action, why: str, after: Entry | None) -> bool:
    """Write the entry that follows `after`; False if somebody else wrote it first."""
    number = after.number + 1 if after else 1
    values = {"action": action, "unix_s": time.time(), "why": why}
    data = json.dumps(values, indent=1, sort_keys=True).encode()
    return store.create(f"{LOGS}{folder}/{number:06d}.json", data)


def claim(store: Objects, folder: str, why: str) -> None:
    """Before a folder is uploaded, or taken as uploaded: nobody removes it from now on.

    Waits while it is being removed; a remover that died is overtaken.
    """
    seen, since = 0, time.monotonic()
    while entry := last(store, folder):
        if entry.action in (Action.KEPT, Action.REMOVED):
            return
        if entry.number != seen:
            seen, since = entry.number, time.monotonic()
        if entry.action is Action.REMOVING and time.monotonic() - since < LEASE_S:
            time.sleep(POLL_S)
        elif append(store, folder, Action.KEPT, why, entry):
            return


def rescue(store: Objects, folder: str, why: str) -> None:
    """Before a folder is downloaded: if it is marked, it is not from now on.

    Who may only read, reads on; the grace period is all that then keeps the folder.
    """
    with suppress(StorageError):
        entry = last(store, folder)
        if entry and entry.action is Action.MARKED:
            append(store, folder, Action.KEPT, why, entry)


def explain(store: Objects, folder: str) -> str | None:
    """When and why a folder was removed; None if it was not."""
    entry = last(store, folder)
    if entry is None or entry.action not in GONE:
        return None
    return f"was removed by `gc` at {entry.when}: {entry.why}"


def remove(store: Objects, folder: str, manifest: str, why: str, after: Entry) -> bool:
    """Delete a marked folder, or finish a removal that was cut short; its manifest goes first.

    False if somebody used it meanwhile, then nothing is deleted. StorageError if it takes so long
    that others may believe it dead; the next call goes on.
    """
    if not append(store, folder, Action.REMOVING, why, after):
        return False
    began = time.monotonic()
    keys = store.list(f"{folder}/")
    for key in sorted(keys, key=lambda key: key != f"{folder}/{manifest}"):
        if time.monotonic() - began > LEASE_S / 3:
            raise StorageError(f"{folder}: removing it took over {LEASE_S / 3:.0f} s; run gc again")
        store.delete(key)
    removing = Entry(Action.REMOVING, time.time(), why, after.number + 1)
    append(store, folder, Action.REMOVED, why, removing)
    return True
