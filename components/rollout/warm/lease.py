"""The two notes between a driver, its servers and the steps, in object storage.

The driver renews a server's lease; a server whose lease is not renewed ends. The server writes its
door: the key that opens it. Steps read both. Times are compared on one clock only.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from components.errors import RolewiseError, StorageError
from components.state import check_run
from components.storage import Store

NEEDS_SERVER = ("rollout", "sample_turn", "evaluate_team")
"""Steps that play the run's own team, for which the driver has started servers. The evaluations at
a run's start and end hold several teams at a time; they play by themselves, on what they book."""


@dataclass(frozen=True)
class Lease:
    """The driver's sign of life."""

    holder: str
    """Of the driver's session."""
    count: int
    """Renewals so far."""
    lease_s: float
    """How long a server goes on without a renewal."""
    renewed_unix_s: float
    """By the driver's clock: decides only whether a server that starts is far too late."""
    url: str = ""
    """Where steps reach the server; empty until it is known."""
    released: bool = False
    """True: the driver needs it no longer."""


@dataclass(frozen=True)
class Door:
    """How steps are let in."""

    key: str
    """Bearer token."""
    boot: str
    """Of this start of the server's keeper."""


class NotAnnounced(RolewiseError):
    """Nobody has started the server that a step needs."""


def server_name(run: str, store: str, part: str) -> str:
    """A server's name, the same for every driver of the run: a Kubernetes name of at most 53
    characters, which leaves room for a pod's suffix."""
    digest = hashlib.sha256(f"{store} {run} {part}".encode()).hexdigest()[:8]
    words = re.sub(r"[^a-z0-9]+", "-", f"{run}-{part}".lower()).strip("-")[:38].rstrip("-")
    return f"warm-{words}-{digest}"


def write_lease(store: Store, run: str, name: str, lease: Lease) -> None:
    """Replace the lease."""
    store.write(_key(run, name, "lease"), json.dumps(asdict(lease)).encode())


def read_lease(store: Store, run: str, name: str) -> Lease | None:
    """The lease; None if there is none."""
    content = _read(store, _key(run, name, "lease"))
    return Lease(**content) if content else None


def write_door(store: Store, run: str, name: str, door: Door) -> None:
    """Replace the door's note."""
    store.write(_key(run, name, "door"), json.dumps(asdict(door)).encode())


def read_door(store: Store, run: str, name: str) -> Door | None:
    """The door's note; None before the server's first start."""
    content = _read(store, _key(run, name, "door"))
    return Door(**content) if content else None


def forget(store: Store, run: str, name: str) -> None:
    """Remove both notes."""
    for kind in ("lease", "door"):
        store.delete(_key(run, name, kind))


def announced(store: Store, run: str, name: str) -> tuple[Lease, Door] | None:
    """What a step needs to reach a server; None while it starts. NotAnnounced says how to have
    one, if nobody keeps it."""
    lease, door = read_lease(store, run, name), read_door(store, run, name)
    if lease is None or lease.released:
        raise NotAnnounced(
            f"run {run!r}: no warm server {name!r} is announced in {store.uri}; servers belong to "
            "a driver: start the run by `python -m pipelines submit --wait`, `run` or the pipeline "
            "`training`, or leave out rollout.server"
        )
    return (lease, door) if lease.url and door else None


class Watch:
    """A server's look at its lease."""

    def __init__(
        self,
        store: Store,
        run: str,
        name: str,
        max_age_s: float,
        *,
        holder: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`holder`: the only driver that may renew it; None: any."""
        self._store, self._run, self._name = store, run, name
        self._clock, self._wall, self._holder = clock, wall, holder
        self._end = clock() + max_age_s
        self._seen: tuple[str, int] | None = None
        self._since = clock()
        self._lease_s = 60.0

    def ended(self) -> str | None:
        """Why the server must end now; None: it goes on.

        Storage that cannot be read is no sign of life either.
        """
        now = self._clock()
        if now > self._end:
            return "its time limit is over"
        try:
            lease = read_lease(self._store, self._run, self._name)
        except (StorageError, OSError):
            return self._lapsed(now)
        if lease is None:
            return "its lease is gone"
        if lease.released:
            return "the driver needs it no longer"
        if self._holder and lease.holder != self._holder:
            return "another driver has taken its place"
        first, self._lease_s = self._seen is None, lease.lease_s
        if first and self._wall() - lease.renewed_unix_s > 3 * lease.lease_s + 60:
            return "its driver ended long ago"
        if self._seen != (lease.holder, lease.count):
            self._seen, self._since = (lease.holder, lease.count), now
        return self._lapsed(now)

    def _lapsed(self, now: float) -> str | None:
        if now - self._since <= self._lease_s:
            return None
        return f"its driver has given no sign of life for {self._lease_s:g} s"


def _key(run: str, name: str, kind: str) -> str:
    return f"runs/{check_run(run)}/servers/{name}/{kind}.json"


def _read(store: Store, key: str) -> dict[str, Any] | None:
    if not store.exists(key):
        return None
    return dict(json.loads(store.read(key)))
