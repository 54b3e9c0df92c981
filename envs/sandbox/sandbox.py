"""Run programs that nobody has read, one or many at a time: the sandbox as its users see it.

One fork server per process and options, started by the first run and ended with the process. It
refuses to start where a guarantee is missing that the options do not accept.
"""

import atexit
import os
import platform
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from envs.sandbox.attempt import Evidence, attempt, classify
from envs.sandbox.guarantees import Guarantees, SandboxUnavailable, examine
from envs.sandbox.inside.protocol import LAYERS
from envs.sandbox.options import SandboxOptions
from envs.sandbox.results import Result, Run
from envs.sandbox.server import Server

_opened: dict[SandboxOptions, "Sandbox"] = {}
_opening = threading.Lock()


def open_sandbox(options: SandboxOptions) -> "Sandbox":
    """The sandbox with these options; nothing is started before its first run."""
    with _opening:
        return _opened.setdefault(options, Sandbox(options))


def probe(options: SandboxOptions | None = None) -> Guarantees:
    """Which guarantees hold on this machine, whatever the options accept. SandboxUnavailable."""
    accepting = (options or SandboxOptions()).model_copy(update={"accept_missing": ()})
    sandbox = Sandbox(accepting, strict=False)
    try:
        return sandbox.guarantees
    finally:
        sandbox.close()


class Sandbox:
    """Thread-safe. Runs share nothing: each is a fresh child in a fresh folder."""

    def __init__(self, options: SandboxOptions, strict: bool = True) -> None:
        self.options = options
        self._strict = strict
        self._lock = threading.Lock()
        self._started: tuple[Server, Guarantees] | None = None

    @property
    def guarantees(self) -> Guarantees:
        """What the probe found; starts the sandbox. SandboxUnavailable."""
        return self._start()[1]

    def run(self, run: Run) -> Result:
        """One run; every fault of the program or of the launcher is an outcome.

        SandboxUnavailable if this machine lacks a guarantee that the options do not accept.
        """
        server, found = self._start()
        lane = None
        try:
            lane = server.take()
            evidence = attempt(lane, run, self.options, frozenset(LAYERS) - set(found.layers))
        except OSError as error:  # no descriptors left, or a server that is gone
            evidence = Evidence.of_failure(str(error))
        if lane and evidence.reply:
            server.give_back(lane)
        else:
            self._lose(server, lane)
        return classify(evidence, self.options)

    def run_many(self, runs: Sequence[Run], workers: int | None = None) -> list[Result]:
        """The results in order; as many runs side by side as there are cores to use."""
        wanted = min(len(runs), workers or len(os.sched_getaffinity(0)))
        if wanted <= 1:
            return [self.run(run) for run in runs]
        with ThreadPoolExecutor(wanted, thread_name_prefix="sandbox") as pool:
            return list(pool.map(self.run, runs))

    def close(self) -> None:
        """End the server and every run; a later run starts it again."""
        with self._lock:
            started, self._started = self._started, None
        if started:
            started[0].close()

    def abandon(self) -> None:
        """In a forked copy of this process: the server belongs to the original."""
        self._lock = threading.Lock()
        if self._started:
            self._started[0].abandon()
            self._started = None

    def _start(self) -> tuple[Server, Guarantees]:
        with self._lock:
            if self._started is None:
                self._started = self._launch()
            return self._started

    def _launch(self) -> tuple[Server, Guarantees]:
        if platform.system() != "Linux":
            raise SandboxUnavailable(
                f"the sandbox needs Linux, this is {platform.system()}: run in a container or a VM"
            )
        server = Server(self.options)
        try:
            lane = server.take()
            server.give_back(lane)  # nobody else has this server yet
            found = examine(lane, self.options, server.folder)
            if self._strict:
                found.refuse_unless(self.options.accept_missing)
            return server, found
        except (OSError, SandboxUnavailable) as error:
            said = server.close().splitlines()[-1:]
            raise SandboxUnavailable(" ".join([str(error), *said])) from error

    def _lose(self, server: Server, lane: socket.socket | None) -> None:
        """A lane failed; if its server did, the next run starts another."""
        if lane:
            lane.close()
        with self._lock:
            ours = self._started and self._started[0] is server and not server.running
            if ours:
                self._started = None
        if ours:
            server.close()


def _close_all() -> None:
    for sandbox in _opened.values():
        sandbox.close()


def _abandon_all() -> None:
    global _opening
    _opening = threading.Lock()  # another thread may have held it
    for sandbox in _opened.values():
        sandbox.abandon()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_abandon_all)
