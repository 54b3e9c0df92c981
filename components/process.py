"""The process that a step runs in: whether it is the step's own, its start, its end, SIGTERM.

Half of a small iteration is interpreters that start and stop, so both are measured and kept short.
"""

import ctypes
import gc
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "_KFP_RUNTIME"
"""Set to `true` by KFP in the command line of a process that it starts for one step."""
_STARTTIME = 19
"""Position of `starttime` in /proc/self/stat behind the process's name."""
_PR_SET_PDEATHSIG = 1
_COUNTED = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def is_own() -> bool:
    """Whether KFP started this process for one step, so that nothing else happens in it."""
    return os.environ.get(_VARIABLE) == "true"


def start_s() -> dict[str, float]:
    """`start_s` and `start_cpu_s`: from the start of a process of its own until now.

    That is the interpreter and its imports. Empty in a process that has other things behind it.
    """
    if not is_own():
        return {}
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begun = int(fields[_STARTTIME]) / os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - begun
    return {"start_s": max(age, 0.0), "start_cpu_s": cpu_s()}


def cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in _COUNTED]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_memory_mib() -> float:
    """Of this process and of its largest child that has ended, together."""
    return sum(resource.getrusage(who).ru_maxrss for who in _COUNTED) / 1024


@contextmanager
def without_collector() -> Iterator[None]:
    """For imports and loading: nothing there is garbage, and looking for it takes a quarter of
    the time that the model libraries need."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def make_exit_fast() -> None:
    """In a process of its own, leave what exists to the operating system: at the end the
    interpreter would look through the model libraries' objects for seconds. Elsewhere nothing."""
    if is_own():
        gc.freeze()


def die_with_parent() -> None:
    """Linux: this process gets SIGTERM when the one that started it ends, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM rises as SystemExit, so that what was begun is taken back; only where nobody else
    listens to it, and in the main thread."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not end the goodbye
        raise SystemExit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
