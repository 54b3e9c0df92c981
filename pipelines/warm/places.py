"""Where warm servers run: the protocol, and processes on this machine for local runs.

A server on this machine is a child of the driver. It ends with its lease like any other, so a
killed driver leaves nothing behind for longer than that.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from components.rollout.warm.layout import Server
from components.rollout.warm.process import Plan
from components.server_settings import ServerConfig

STOP_S = 30.0


@dataclass(frozen=True)
class Begun:
    """A server that was started, or found."""

    url: str
    """Where steps reach it."""
    adopted: bool
    """Whether it was there already: then the note of its door is there too."""


class Place(Protocol):
    """Starts and stops servers."""

    def begin(self, server: Server, plan: Plan, holder: str) -> Begun:
        """Start a server, or adopt the one of that name."""
        ...

    def is_ready(self, server: Server) -> bool:
        """Whether it answers."""
        ...

    def fault(self, server: Server) -> str | None:
        """Why it will not become ready without help, or not at once; None: nothing is wrong."""
        ...

    def stop(self, name: str) -> None:
        """Take a server down; nothing happens if it is gone."""
        ...


class LocalPlace:
    """Implements Place by processes of this machine."""

    def __init__(
        self, run: str, settings: ServerConfig, logs: Path, more: Sequence[str] = ()
    ) -> None:
        """`more`: further arguments of every server."""
        self._run, self._settings, self._logs, self._more = run, settings, logs, more
        self._children: dict[str, tuple[subprocess.Popen[bytes], int]] = {}

    def begin(self, server: Server, plan: Plan, holder: str) -> Begun:
        """See Place."""
        known = self._children.get(server.name)
        adopted = known is not None and known[0].poll() is None
        if known is None or not adopted:
            self._children[server.name] = known = self._start(server, plan, holder)
        return Begun(f"http://127.0.0.1:{known[1]}", adopted)

    def _start(
        self, server: Server, plan: Plan, holder: str
    ) -> "tuple[subprocess.Popen[bytes], int]":
        port = free_port()
        command = [
            sys.executable, "-m", "components.rollout.warm", f"--run={self._run}",
            f"--name={server.name}", "--host=127.0.0.1", f"--port={port}", f"--holder={holder}",
            f"--max-age-s={self._settings.max_age_s}", f"--plan={plan.to_json()}",
            *self._more,
        ]  # fmt: skip
        self._logs.mkdir(parents=True, exist_ok=True)
        environment = {"OMP_NUM_THREADS": "1", **os.environ}
        with open(self.log(server), "ab") as log:
            child = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, env=environment
            )
        return child, port

    def log(self, server: Server) -> Path:
        """What the server said."""
        return self._logs / f"{server.name}.log"

    def pid(self, name: str) -> int:
        """Of a server's first process."""
        return self._children[name][0].pid

    def is_ready(self, server: Server) -> bool:
        """See Place. The door's note says the rest."""
        return self.fault(server) is None

    def fault(self, server: Server) -> str | None:
        """See Place."""
        known = self._children.get(server.name)
        if known is None or known[0].poll() is None:
            return None
        return f"its process ended with {known[0].returncode}; see {self.log(server)}"

    def stop(self, name: str) -> None:
        """See Place."""
        child, _ = self._children.pop(name, (None, 0))
        if child is None:
            return
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()
        child.wait()


def free_port() -> int:
    """A port of loopback that nobody listens at now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
