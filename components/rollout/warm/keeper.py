"""A warm server's first process: starts vLLM, starts it again when it dies, ends when it must.

It ends when its lease lapses, when the driver needs it no longer, or when its time is over; then it
takes its own Deployment and Service along. It loads no model library itself.
"""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from components.rollout.warm.lease import Door, Watch, write_door
from components.rollout.warm.process import Plan, Seat
from components.rollout.warm.removal import Account, remove_self
from components.storage import open_store

MAX_DEATHS = 3
"""In a row without having been ready: then the keeper gives up, and says so by its exit code."""
STOP_S = 20.0
"""That vLLM has to end."""


class Stopped(Exception):
    """SIGTERM came."""


@dataclass
class Keeper:
    """One server's life."""

    run: str
    name: str
    plan: Plan
    host: str
    port: int
    max_age_s: float
    holder: str | None = None
    account: Account | None = None
    """None outside a cluster: there is nothing to remove."""
    module: str = "components.rollout.warm.process"
    """The program that serves; it is given the path of a file with plan and seat."""
    poll_s: float = 1.0
    say: Callable[[str], None] = lambda text: print(text, flush=True)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def keep(self) -> int:
        """Until the end; the exit code: 0 as it should be, 1 if vLLM does not start."""
        signal.signal(signal.SIGTERM, _stop)
        store = open_store(self.plan.storage)
        watch = Watch(store, self.run, self.name, self.max_age_s, holder=self.holder)
        if reason := watch.ended():
            return self._leave(reason)
        with TemporaryDirectory(prefix="rolewise-warm-") as folder:
            try:
                return self._serve(watch, Path(folder))
            except (Stopped, KeyboardInterrupt):
                self.say(f"{self.name}: told to end")
                return 0

    def _serve(self, watch: Watch, folder: Path) -> int:
        deaths = 0
        while deaths < MAX_DEATHS:
            child = self._start(folder)
            try:
                was_ready, reason = self._attend(child, watch)
            finally:
                end(child)
            if reason:
                return self._leave(reason)
            deaths = 1 if was_ready else deaths + 1
            self.say(f"{self.name}: vLLM ended with {child.returncode}")
        self.say(f"error: {self.name}: vLLM ended {MAX_DEATHS} times before it was ready")
        return 1

    def _start(self, folder: Path) -> "subprocess.Popen[bytes]":
        seat = Seat(self.host, self.port, self.key, str(folder / "cache"))
        path = folder / "plan.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps({"plan": self.plan.to_json(), "seat": asdict(seat)}))
        return subprocess.Popen(
            [sys.executable, "-m", self.module, str(path)], start_new_session=True
        )

    def _attend(self, child: "subprocess.Popen[bytes]", watch: Watch) -> tuple[bool, str | None]:
        """Until the child or the lease ends: whether it was ever ready, and why it must end."""
        ready = False
        while child.poll() is None:
            if reason := watch.ended():
                return ready, reason
            if not ready and self._answers():
                ready = True
                store = open_store(self.plan.storage)
                write_door(store, self.run, self.name, Door(self.key, secrets.token_hex(4)))
                self.say(f"{self.name}: ready")
            time.sleep(self.poll_s)
        return ready, None

    def _answers(self) -> bool:
        request = urllib.request.Request(
            f"http://{self.host}:{self.port}/warm/state",
            headers={"Authorization": f"Bearer {self.key}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30.0):
                return True
        except OSError:
            return False

    def _leave(self, reason: str) -> int:
        """Take the Deployment along; that its pod is told to end then is no news."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.say(f"{self.name}: ends: {reason}")
        if self.account:
            self.say(f"{self.name}: {remove_self(self.name, self.account)}")
        return 0


def end(child: "subprocess.Popen[bytes]") -> None:
    """Stop a child and all of its process group."""
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(STOP_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped
