"""Carries a plan out, beside running runs: marks, unmarks, removes, and writes down what it did."""

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from components.retention.notes import is_useless
from components.retention.plan import Fate, Folder, Item, Note, Plan
from components.storage import Store, removal
from components.storage.folders import MANIFEST
from components.storage.removal import Action, Entry

LOG = "gc/log/"
Say = Callable[[str], None]


@dataclass
class Done:
    """What came of a plan."""

    removed: list[Item]
    num_marked: int = 0
    num_spared: int = 0
    """Used by somebody between the plan and its execution."""
    num_leftovers: int = 0
    """Unfinished files, and notes of what is gone."""
    num_bytes: int = 0


def carry_out(store: Store, plan: Plan, who: str, say: Say) -> Done:
    """Do it. Each removal is a line, an entry in the folder's log, and a line of the call's log."""
    done = Done([])
    try:
        for item in plan.items:
            _carry_out_one(store, item, done, say)
        for note in plan.notes:
            _remove_note(store, note, plan.grace_s, done, say)
        for left, fate in plan.leftovers:
            if fate is Fate.REMOVE:
                store.discard(left)
                done.num_leftovers += 1
                done.num_bytes += left.bytes
                say(f"removed unfinished {left.key}, {left.bytes} bytes")
    finally:
        if done.removed or done.num_leftovers:
            _write_log(store, done, plan.grace_s, who)
    return done


def _carry_out_one(store: Store, item: Item, done: Done, say: Say) -> None:
    folder, key = item.folder, item.folder.key
    if item.fate is Fate.UNMARK:
        removal.append(store, key, Action.KEPT, item.reason, item.entry)
    elif item.fate is Fate.MARK:
        done.num_marked += removal.append(store, key, Action.MARKED, item.reason, item.entry)
    elif item.fate is Fate.REMOVE:
        entry = _marked(store, item)
        if entry and removal.remove(store, key, MANIFEST, item.reason, entry):
            done.removed.append(item)
            done.num_bytes += folder.bytes
            say(f"removed {describe(folder)}: {item.reason}")
        else:
            done.num_spared += 1
            say(f"spared {describe(folder)}: somebody has used it just now")


def _remove_note(store: Store, note: Note, grace_s: float, done: Done, say: Say) -> None:
    """Only if what it belongs to is gone: its policy may have been spared a moment ago."""
    if note.fate is Fate.REMOVE and is_useless(store, note, grace_s):
        store.delete(note.key)
        done.num_leftovers += 1
        done.num_bytes += note.bytes
        say(f"removed {note.key}, {size_text(note.bytes)}: {note.reason}")


def _marked(store: Store, item: Item) -> Entry | None:
    """The mark that a removal follows; without a grace period it is made now."""
    entry = item.entry
    if entry and entry.action in (Action.MARKED, Action.REMOVING):
        return entry
    if not removal.append(store, item.folder.key, Action.MARKED, item.reason, entry):
        return None
    return Entry(Action.MARKED, time.time(), item.reason, entry.number + 1 if entry else 1)


def describe(folder: Folder) -> str:
    """`policies/0123456789ab, 1.2 MB`."""
    prefix, _, digest = folder.key.partition("/")
    return f"{prefix}/{digest[:12]}, {size_text(folder.bytes)}"


def size_text(num_bytes: float) -> str:
    """`640 B`, `1.2 MB`, `3.4 GB`."""
    if num_bytes < 1000:
        return f"{num_bytes:.0f} B"
    for unit in ("kB", "MB", "GB"):
        num_bytes /= 1000
        if num_bytes < 1000:
            return f"{num_bytes:.1f} {unit}"
    return f"{num_bytes / 1000:.1f} TB"


def _write_log(store: Store, done: Done, grace_s: float, who: str) -> None:
    when = datetime.now(UTC)
    content: Mapping[str, object] = {
        "when": when.isoformat(timespec="seconds"), "who": who, "grace_hours": grace_s / 3600,
        "removed": [
            {"folder": item.folder.key, "bytes": item.folder.bytes, "what": item.reason}
            for item in done.removed
        ],
        "num_leftovers": done.num_leftovers, "bytes": done.num_bytes, "schema_version": 1,
    }  # fmt: skip
    name = f"{when:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}.json"
    store.write(f"{LOG}{name}", json.dumps(content, indent=1, sort_keys=True).encode())
