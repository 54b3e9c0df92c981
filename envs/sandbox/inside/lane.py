"""A lane forks one child per run, watches it and ends it: one run at a time, no user code here.

The lane reads neither the program nor its input, so no later child finds them in its memory.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from envs.sandbox.inside import kernel
from envs.sandbox.inside.jail import Jail, close_all_but, lock
from envs.sandbox.inside.landlock import make_ruleset
from envs.sandbox.inside.program import forget, run
from envs.sandbox.inside.protocol import (
    LAYERS,
    MOST_THREADS,
    NOT_BEGUN_STATUS,
    NUM_DESCRIPTORS,
    REPLY,
    Killed,
)
from envs.sandbox.inside.scratch import scratch_in, too_much_in

TICK_S, TICK_WITHOUT_PIDFD_S = 0.05, 0.002
"""How often a run is looked at."""


def serve(requests: socket.socket, jail: Jail, folder: str) -> None:
    """Until the other side closes. `folder`: where each run's scratch folder is made."""
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, NUM_DESCRIPTORS)
        if not message:
            return
        if len(descriptors) < NUM_DESCRIPTORS:  # a late wish to end the run before
            continue
        requests.send(_answer(requests, message[0], descriptors, jail, folder))


def _answer(
    requests: socket.socket, optional: int, descriptors: Sequence[int], jail: Jail, folder: str
) -> bytes:
    """One run from its folder to its reply; what fails before it begins is told, not raised."""
    started = time.monotonic()
    with ExitStack() as behind:
        try:
            scratch = behind.enter_context(scratch_in(folder))
            child = _fork(requests, optional, descriptors, jail, scratch)
        except OSError as error:
            _tell_fault(descriptors[-1], error)
            return REPLY.pack(NOT_BEGUN_STATUS << 8, Killed.NOT, 0.0, time.monotonic() - started)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        why = _watch(child, requests, jail, scratch, started)
        _kill_group(child)
        _, status, usage = os.wait4(child, 0)
        _end_survivors()
    cpu_s = usage.ru_utime + usage.ru_stime
    return REPLY.pack(status, why, cpu_s, time.monotonic() - started)


def _fork(
    requests: socket.socket, optional: int, descriptors: Sequence[int], jail: Jail, scratch: str
) -> int:
    """The child that becomes the program. OSError."""
    lane = os.getpid()
    ruleset = make_ruleset(jail.allowed, scratch) if jail.allowed else None
    try:
        child = os.fork()
        if child == 0:
            try:
                _become_program(lane, requests, optional, descriptors, jail, ruleset, scratch)
            finally:
                os._exit(NOT_BEGUN_STATUS)
        return child
    finally:
        if ruleset is not None:
            os.close(ruleset)


def _tell_fault(end: int, error: BaseException) -> None:
    with suppress(OSError):  # nobody listens any more
        os.write(end, f"fault {error}"[:500].encode("utf-8", "replace"))


def _become_program(
    lane: int, requests: socket.socket, optional: int, descriptors: Sequence[int], jail: Jail,
    ruleset: int | None, scratch: str,
) -> None:  # fmt: skip
    """In the child; never returns."""
    try:
        program, stdin, stdout, stderr, end = descriptors
        for target, source in enumerate((stdin, stdout, stderr)):
            os.dup2(source, target)
        requests.detach()
        close_all_but([program, end] if ruleset is None else [program, end, ruleset])
        layers = {layer for bit, layer in enumerate(LAYERS) if optional >> bit & 1}
        found = lock(jail, ruleset, scratch, lane, layers)
        forget("envs")
        os.write(end, ("ready " + " ".join(found)).encode())
    except BaseException as error:  # a child that is not locked in must never go on
        try:
            _tell_fault(descriptors[-1], error)
        finally:
            os._exit(NOT_BEGUN_STATUS)
    run(program, end)


def _watch(child: int, requests: socket.socket, jail: Jail, scratch: str, started: float) -> Killed:
    """Return when the child has ended (it is not reaped yet) or has to be killed, and why."""
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    pidfd = _open_pidfd(child)
    if pidfd is not None:
        poll.register(pidfd, select.POLLIN)
    try:
        while True:
            left = jail.limits.wall_s - (time.monotonic() - started)
            tick = TICK_S if pidfd is not None else TICK_WITHOUT_PIDFD_S
            ready = [descriptor for descriptor, _ in poll.poll(max(0.0, min(tick, left)) * 1000)]
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return Killed.FILES if too_much_in(scratch) else Killed.NOT
            if requests.fileno() in ready:
                requests.recv(1)
                return Killed.ASKED
            if left <= 0:
                return Killed.WALL
            if why := _over_limit(child, jail.limits.cpu_s, scratch):
                return why
    finally:
        if pidfd is not None:
            os.close(pidfd)


def _open_pidfd(child: int) -> int | None:
    """None where the container denies it."""
    try:
        return os.pidfd_open(child)
    except OSError:
        return None


def _over_limit(child: int, cpu_s: float, scratch: str) -> Killed:
    """Nothing that a program does, or ends in the meantime, may raise here."""
    try:
        if time.clock_gettime(~child << 3 | 2) > cpu_s:
            return Killed.CPU
        with open(f"/proc/{child}/stat", "rb") as file:
            if int(file.read().rpartition(b")")[2].split()[17]) > MOST_THREADS:
                return Killed.THREADS
    except OSError:  # it has just ended, or /proc is masked
        pass
    return Killed.FILES if too_much_in(scratch, child) else Killed.NOT


def _kill_group(child: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(OSError):  # no such group yet: it had not called setsid
            kill(child, signal.SIGKILL)


def _end_survivors() -> None:
    """Whatever a run left behind has become this process's child; normally there is nothing."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            for orphan in _children():
                with suppress(OSError):  # it has just ended
                    os.kill(orphan, signal.SIGKILL)
            time.sleep(0.001)


def _children() -> list[int]:
    own, found = os.getpid(), []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    if int(file.read().rpartition(b")")[2].split()[1]) == own:
                        found.append(int(name))
            except OSError:
                continue
    return found
