"""A forked child locks itself in, for good, before it sees a program. It runs nothing."""

import os
import platform
import resource
import signal
from collections.abc import Iterable
from typing import NamedTuple

from envs.sandbox.inside import kernel, landlock, seccomp
from envs.sandbox.inside.protocol import LAYERS
from envs.sandbox.inside.settings import Limits, cpu_backstop

FILE_BYTES = 16 * 2**20
"""Most of one file in the scratch folder."""
OPEN_FILES = 64
STACK_BYTES = 64 * 2**20
"""Of the main thread: programs that recurse deeply ask for more than the usual 8 MiB."""


class Jail(NamedTuple):
    """Made once per lane; every child locks itself in by it."""

    limits: Limits
    allowed: landlock.Allowed | None
    """What Landlock lets every run open; None where the kernel has no Landlock."""
    filter: bytes | None
    """A seccomp program; None on an architecture without a list of calls."""


def make_filter() -> bytes | None:
    """The seccomp program for this machine."""
    try:
        return seccomp.assemble(platform.machine())
    except KeyError:
        return None


def close_all_but(kept: Iterable[int]) -> None:
    """Close every descriptor above 2 that is not kept."""
    start = 3
    for descriptor in sorted(set(kept)):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, 2**16)


def lock(
    jail: Jail, ruleset: int | None, scratch: str, parent: int, optional: Iterable[str]
) -> list[str]:
    """The layers that are in force: `landlock`, `seccomp`. `ruleset`: this run's own.

    OSError if one fails that is not `optional`. No step can be undone by the program: the limits
    are hard ones and the capabilities to raise them are gone.
    """
    os.setsid()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise OSError("the fork server is gone")
    os.chdir(scratch)
    _first_to_be_killed_when_memory_runs_out()
    _set_limits(jail.limits)
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    return [layer for layer in LAYERS if _enforce(layer, jail, ruleset, optional)]


def _enforce(layer: str, jail: Jail, ruleset: int | None, optional: Iterable[str]) -> bool:
    try:
        if layer == "landlock":
            if ruleset is None:
                raise OSError("this kernel has no Landlock")
            landlock.restrict(ruleset)
            os.close(ruleset)
        else:
            if jail.filter is None:
                raise OSError(f"no list of system calls for {platform.machine()}")
            seccomp.install(jail.filter)
    except OSError:
        if layer not in optional:
            raise
        return False
    return True


def _set_limits(limits: Limits) -> None:
    """Soft and hard alike: they kill, and cannot be caught or raised."""
    stack = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if stack == resource.RLIM_INFINITY or stack >= STACK_BYTES:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, stack))
    for which, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, cpu_backstop(limits.cpu_s)),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(which)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (least, least))


def _first_to_be_killed_when_memory_runs_out() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:  # a masked /proc: the kernel then chooses by size alone
        pass
