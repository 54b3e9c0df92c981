"""Who drives a run on this machine: a file beside its logs, and the process that the file names.

A process is known by its number, its start, the machine's boot and its namespace: a number that was
given to another process since is never taken for the driver. Signals go through a descriptor that
was opened before it was compared. Left out: drivers on other machines, of which only the host's
name is known.
"""

import fcntl
import json
import os
import select
import shlex
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from components.errors import ConfigError, RolewiseError
from pipelines.runner import RUNS

FILE = "driver.json"
Outcome = Literal["", "finished", "failed", "interrupted"]


@dataclass(frozen=True)
class Driver:
    """A process that drives a run, or the last that did."""

    run: str
    store: str
    """Where the run's results are."""
    iterations: int
    """How many the run shall have in the end."""
    command: str
    """That goes on with the run."""
    host: str
    boot: str
    namespace: str
    pid: int
    started: int
    """Clock ticks from the boot to the start of the process."""
    began_unix_s: float
    ended_unix_s: float | None = None
    outcome: Outcome = ""
    """Empty: not said; it still drives, or was killed."""
    message: str = ""
    """Of a failure."""
    passing: bool = False
    """Whether it makes no iteration, as a promotion."""

    @property
    def elsewhere(self) -> bool:
        """Whether the process, if it lives, cannot be seen from here."""
        return (self.host, self.namespace) != (socket.gethostname(), _namespace())

    @property
    def alive(self) -> bool:
        """Whether the process drives the run now."""
        descriptor = open_process(self)
        if descriptor is None:
            return False
        os.close(descriptor)
        return True


@contextmanager
def announced(
    run: str, store: str, iterations: int, passing: bool = False, command: str = ""
) -> Iterator[None]:
    """Be the run's driver on this machine; ConfigError if another process is it.

    `passing`: only for something beside the iterations, after which the word of the driver before
    holds again, if it ends well. `command`: goes on with the run; empty: this process's own.
    """
    path = RUNS / run / FILE
    me = replace(_myself(run, store, iterations), passing=passing)
    me = replace(me, command=command or me.command)
    before = _claim(path, me)
    outcome: tuple[Outcome, str] = ("finished", "")
    try:
        yield
    except KeyboardInterrupt:
        outcome = ("interrupted", "")
        raise
    except BaseException as error:  # the boundary of a driver: how it ended is kept
        words = (
            str(error) if isinstance(error, RolewiseError) else f"{type(error).__name__}: {error}"
        )
        outcome = ("failed", " ".join(words.removeprefix("error: ").split()))
        raise
    finally:
        said, message = outcome
        mine = replace(me, ended_unix_s=time.time(), outcome=said, message=message)
        if passing and said == "finished" and before and not before.passing:
            mine = before
        _write(path, mine)


def check_free(run: str) -> None:
    """ConfigError if a living process of this machine drives the run."""
    other = last_driver(run)
    if other and other.alive and other.pid != os.getpid():
        raise ConfigError(
            f"run {run!r} is being driven by process {other.pid} on this machine "
            f"({other.command}); wait for it, or end it with `python -m pipelines stop {run}`"
        )


def last_driver(run: str) -> Driver | None:
    """Who drives or last drove a run from this folder; None if nobody, or not by a known word."""
    try:
        found = Driver(**json.loads((RUNS / run / FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    numbers = (found.pid, found.started, found.iterations)
    return found if all(type(number) is int for number in numbers) else None


def open_process(driver: Driver) -> int | None:
    """A descriptor of the driver's process; None if it has ended or is not to be seen from here."""
    if driver.outcome or driver.elsewhere or driver.boot != _boot():
        return None
    try:
        descriptor = os.pidfd_open(driver.pid)
    except OSError:  # no such process
        return None
    if _started(driver.pid) == driver.started:
        return descriptor
    os.close(descriptor)
    return None


def stop_process(driver: Driver, patience_s: float) -> bool:
    """Ask a driver to stop, as Ctrl-C does, and wait; whether it has ended."""
    descriptor = open_process(driver)
    if descriptor is None:
        return True
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        ended, _, _ = select.select([descriptor], [], [], patience_s)
        return bool(ended)
    except ProcessLookupError:
        return True
    except PermissionError as error:
        raise ConfigError(
            f"run {driver.run!r} is driven by process {driver.pid}, which belongs to another user: "
            f"ask them, or stop it as root"
        ) from error
    finally:
        os.close(descriptor)


def _claim(path: Path, me: Driver) -> Driver | None:
    """Write the file, unless a living process has, one at a time; the driver before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        check_free(me.run)
        before = last_driver(me.run)
        _write(path, me)
        return before


def _write(path: Path, driver: Driver) -> None:
    written = path.with_suffix(f".{os.getpid()}")
    written.write_text(json.dumps(asdict(driver), indent=1) + "\n")
    written.replace(path)


def _myself(run: str, store: str, iterations: int) -> Driver:
    command = shlex.join(["python", "-m", "pipelines", *sys.argv[1:]])
    pid = os.getpid()
    return Driver(
        run, store, iterations, command, socket.gethostname(), _boot(), _namespace(), pid,
        _started(pid) or 0, time.time(),
    )  # fmt: skip


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")


def _started(pid: int) -> int | None:
    """Clock ticks from the boot to the start of a process; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
