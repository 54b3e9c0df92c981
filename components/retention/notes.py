"""Small objects that belong to something: probes to policies, a server's notes to its driver.

They go with what they belong to. Nobody marks them; that it is gone is asked again at the end.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping

from components.retention.plan import Fate, Item, Note, Scope
from components.rollout.warm.lease import Lease, read_lease
from components.storage import Store
from components.storage.folders import MANIFEST

_PROBE = re.compile(r"probes/([0-9a-f]{64})\.json")
_SERVER = re.compile(r"runs/([^/]+)/servers/([^/]+)/(lease|door)\.json")


def notes(
    store: Store, sizes: Mapping[str, int], items: Iterable[Item], scope: Scope
) -> list[Note]:
    """All of the store, or of the run that is looked at. `items`: the folders' fates."""
    found = [*_probes(sizes, items, scope), *_servers(store, sizes, scope)]
    return sorted(found, key=lambda note: note.key)


def is_useless(store: Store, note: Note, grace_s: float) -> bool:
    """Whether what it belongs to is gone still, or by now."""
    probe, server = _PROBE.fullmatch(note.key), _SERVER.fullmatch(note.key)
    if probe:
        return not store.exists(f"policies/{probe[1]}/{MANIFEST}")
    return server is not None and _is_dead(
        read_lease(store, server[1], server[2]), time.time(), grace_s
    )


def _probes(sizes: Mapping[str, int], items: Iterable[Item], scope: Scope) -> Iterator[Note]:
    """A probe has its policy's fate. An update writes it after the policy, so one alone is left."""
    fates = {item.folder.key: item for item in items if item.folder.complete}
    for key, size in sizes.items():
        digest = _PROBE.fullmatch(key)
        if digest is None:
            continue
        item = fates.get(f"policies/{digest[1]}")
        if item is not None:
            yield Note(key, size, Fate.KEEP if item.fate is Fate.UNMARK else item.fate, item.reason)
        elif scope.run is None:
            yield Note(key, size, Fate.REMOVE, "its policy is gone")


def _servers(store: Store, sizes: Mapping[str, int], scope: Scope) -> Iterator[Note]:
    for key, size in sizes.items():
        found = _SERVER.fullmatch(key)
        if found is None or scope.run not in (None, found[1]):
            continue
        lease = read_lease(store, found[1], found[2])
        if _is_dead(lease, scope.now_unix_s, scope.grace_s):
            yield Note(key, size, Fate.REMOVE, f"server {found[2]} has no driver any more")
        else:
            yield Note(key, size, Fate.KEEP, f"server {found[2]}")


def _is_dead(lease: Lease | None, now_unix_s: float, grace_s: float) -> bool:
    """A lease that is gone, given back, or not renewed for long: no server goes by it."""
    if lease is None or lease.released:
        return True
    return now_unix_s - lease.renewed_unix_s > max(grace_s, 3 * lease.lease_s + 60)
