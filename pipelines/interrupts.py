"""Ctrl-C and SIGTERM as one KeyboardInterrupt, which is neither doubled nor lost.

Once: a second signal must not end what the first began to put in order. And surely: a signal may
come while Python runs a finaliser or the callback of a weak reference, where it drops whatever
rises; then the interrupt comes once more.

And it stays one that was handled: where it rises in code that Python executes from a string (so
do dataclasses and named tuples make their methods), `python -m` notes it as unhandled and ends the
process with SIGINT, whatever exit code the program chose. The next string executed clears the note.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 0.05
"""After which a dropped interrupt comes again: by then the finaliser has ended."""


@contextmanager
def interruptible() -> Iterator[None]:
    """In the main thread: STOPS rise as KeyboardInterrupt. After it they stay without effect, for
    the process ends; otherwise all is at the end as it was before."""
    before = {number: signal.signal(number, _interrupt) for number in STOPS}
    hook, timers = sys.unraisablehook, list[threading.Timer]()
    sys.unraisablehook = _catching(hook, timers)
    try:
        yield
    except KeyboardInterrupt:
        before = {}
        exec("")
        raise
    finally:
        sys.unraisablehook = hook
        for timer in timers:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> None:
    for stop in STOPS:
        signal.signal(stop, signal.SIG_IGN)
    raise KeyboardInterrupt


def _catching(hook: Callable[[Any], object], timers: list[threading.Timer]) -> Callable[[Any], Any]:
    def look(dropped: Any) -> None:
        ours = threading.current_thread() is threading.main_thread()
        if not ours or not issubclass(dropped.exc_type, KeyboardInterrupt):
            hook(dropped)
            return
        for stop in STOPS:
            signal.signal(stop, _interrupt)
        timers.append(threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.SIGTERM)))
        timers[-1].daemon = True
        timers[-1].start()

    return look
