"""A run's warm servers from its driver's side: up before an iteration, kept, taken down.

    with keep(config, run, place, display, start) as start_warm: train(..., start=start_warm)

However the driver ends, its servers end too: by its hand at the end of the block, which Ctrl-C and
failures reach, or by their lease if it is killed.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from components.config import ExperimentConfig
from components.errors import RolewiseError
from components.rollout.warm.layout import Server, layout
from components.rollout.warm.lease import Door, Lease, forget, read_door, write_lease
from components.rollout.warm.process import Plan
from components.state import latest_iteration, read_state
from components.storage import open_store
from pipelines.display import Display
from pipelines.runner import StepFailed
from pipelines.warm.places import Place

Start = Callable[[str, int, Mapping[str, Any]], None]


@contextmanager
def keep(
    config: ExperimentConfig, run: str, place: Place | None, display: Display, start: Start
) -> Iterator[Start]:
    """`start`, but with servers for every iteration; without a place just `start`."""
    if place is None or config.rollout.server is None:
        yield start
        return
    servers = Servers(config, run, place, display)

    def start_warm(pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        if pipeline == "iteration":
            servers.ensure()
        start(pipeline, iteration, arguments)

    try:
        yield start_warm
    finally:
        servers.close()


class Servers:
    """The servers of one driver's session."""

    def __init__(self, config: ExperimentConfig, run: str, place: Place, display: Display) -> None:
        assert config.rollout.server is not None
        self._config, self._run, self._place, self._display = config, run, place, display
        self._settings = config.rollout.server
        self._store = open_store(config.storage)
        self._leases: dict[str, Lease] = {}
        self._old_doors: dict[str, Door | None] = {}
        """Notes that servers before today's left."""
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._beat: threading.Thread | None = None

    def ensure(self) -> None:
        """Have all servers that the run needs answer. StepFailed if one does not."""
        latest = latest_iteration(self._store, self._run)
        if latest is None:
            raise StepFailed(f"error: {self._run}: no state yet, so no weights to serve")
        servers = layout(
            self._config, self._run, read_state(self._store, self._run, latest).policies
        )
        try:
            fresh = [server for server in servers if not self._is_up(server)]
            for server in fresh:
                self._begin(server)
            for server in fresh:
                self._await(server)
        except RolewiseError as error:
            if isinstance(error, StepFailed):
                raise
            raise StepFailed(f"error: {error}") from error

    def _is_up(self, server: Server) -> bool:
        """Whether this session has it and it still answers."""
        return server.name in self._leases and self._place.is_ready(server)

    def _begin(self, server: Server) -> None:
        """The lease first: a server that finds none ends at once."""
        plan = Plan(self._config.storage, self._config.rollout, server.folder, server.ranks)
        first = Lease(uuid.uuid4().hex[:12], 0, self._settings.lease_s, time.time())
        lease = self._leases.setdefault(server.name, first)
        self._renew(server.name)
        door = read_door(self._store, self._run, server.name)
        begun = self._place.begin(server, plan, lease.holder)
        self._old_doors[server.name] = None if begun.adopted else door
        self._renew(server.name, url=begun.url)
        policies = ", ".join(server.policies)
        self._display.say(f"warm server {server.name} for {policies}: {begun.url}")
        if self._beat is None:
            self._beat = threading.Thread(target=self._keep_alive, daemon=True)
            self._beat.start()

    def _await(self, server: Server) -> None:
        begun = time.monotonic()
        end, pause_s, told = begun + self._settings.start_timeout_s, 0.2, ""
        while not (self._place.is_ready(server) and self._is_open(server.name)):
            fault = self._place.fault(server)
            if fault and fault != told:
                self._display.notice(f"warm server {server.name}: {fault}")
                told = fault
            if time.monotonic() > end or (fault and "ended with" in fault):
                raise StepFailed(
                    f"error: warm server {server.name} is not ready after "
                    f"{time.monotonic() - begun:.0f} s (rollout.server.start_timeout_s "
                    f"{self._settings.start_timeout_s}): {fault or 'no reason is known'}"
                )
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, 5.0)

    def _is_open(self, name: str) -> bool:
        """Whether the server of today has written its door's note."""
        return read_door(self._store, self._run, name) not in (None, self._old_doors[name])

    def _keep_alive(self) -> None:
        """Renew all leases, four times in each one's length."""
        while not self._closed.wait(self._settings.lease_s / 4):
            for name in list(self._leases):
                try:
                    self._renew(name)
                except (RolewiseError, OSError) as error:
                    self._display.notice(f"warm server {name}: its lease is not renewed: {error}")

    def _renew(self, name: str, **changes: Any) -> None:
        """A sign of life, with what changed. Driver and beat both give them, so the lease is read
        and replaced under one lock: neither takes back what the other said."""
        with self._lock:
            if self._closed.is_set() and "released" not in changes:
                return
            old = self._leases[name]
            lease = replace(old, count=old.count + 1, renewed_unix_s=time.time(), **changes)
            self._leases[name] = lease
            write_lease(self._store, self._run, name, lease)

    def close(self) -> None:
        """Take all of them down. What cannot be reached ends by its lease."""
        self._closed.set()
        for name in self._leases:
            try:
                self._renew(name, released=True)
                self._place.stop(name)
                forget(self._store, self._run, name)
                self._display.say(f"warm server {name}: taken down")
            except Exception as error:  # the others shall be taken down too
                self._display.say(f"warm server {name}: {error}; it ends by itself")
        if self._beat:
            self._beat.join()
