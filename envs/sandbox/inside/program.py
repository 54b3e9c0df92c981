"""Run the program in this process, and tell how it ended. The process is locked in already.

An end counts as normal only if the program reached its last line: then the token is fetched from
the pipe's other side, and sent back. Neither a wrong answer nor a right one is known here.
"""

import atexit
import builtins
import gc
import linecache
import os
import random
import sys
import threading
import traceback
import types
from contextlib import suppress
from types import TracebackType
from typing import TextIO

from envs.sandbox.inside.protocol import FAULT_STATUS, MEMORY_STATUS, TOKEN_BYTES

NAME = "program.py"


def run(source: int, end: int) -> None:
    """Never returns. `source`, `end`: descriptors of the program's text and of the token."""
    status = FAULT_STATUS
    leave, finish = os._exit, _finish
    try:
        text = _read(source)
        linecache.cache[NAME] = (len(text), None, text.splitlines(True), NAME)
        main = _fresh_main()
        exec(compile(text, NAME, "exec"), main)
        finish(end, main)
        status = 0
    except BaseException as error:  # whatever the program raises is its end
        status = _explain(error)
    finally:
        leave(status)


def forget(*packages: str) -> None:
    """Take the server's own modules out of reach of `import`."""
    for name in list(sys.modules):
        if name.split(".")[0] in packages:
            del sys.modules[name]


def _read(source: int) -> str:
    with open(source, "rb", buffering=0) as file:
        return file.read().decode("utf-8", "surrogatepass")


def _fresh_main() -> dict[str, object]:
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=NAME)
    sys.modules["__main__"] = main
    sys.argv = [NAME]
    sys.orig_argv = [NAME]
    random.seed(0)  # one program gives one output; a fork had seeded it anew
    gc.enable()
    return main.__dict__


def _finish(end: int, main: dict[str, object]) -> None:
    """What the interpreter does at its end, in its order; then the token."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the program's threads
    atexit._run_exitfuncs()
    _flush(sys.stdout)
    main.clear()  # files that the program left open are written out
    gc.collect()
    _flush(sys.__stdout__)
    os.write(end, os.read(end, TOKEN_BYTES))


def _flush(stream: TextIO | None) -> None:
    """The program may have put anything in its place."""
    if stream is not None and not getattr(stream, "closed", False):
        stream.flush()


def _explain(error: BaseException) -> int:
    """A traceback without the lines of this module; the status to leave with."""
    memory = isinstance(error, MemoryError)
    with suppress(BaseException):  # the program may have closed or replaced it
        _flush(sys.stdout)
    try:
        if isinstance(error, SystemExit):
            print(f"SystemExit: {error.code!r}: only reaching its last line ends a program well",
                  file=sys.stderr)  # fmt: skip
        else:
            own: TracebackType | None = error.__traceback__
            while own and own.tb_frame.f_code.co_filename != NAME:
                own = own.tb_next
            traceback.print_exception(type(error), error, own)
        sys.stderr.flush()
    except BaseException:  # streams that the program closed or replaced
        pass
    return MEMORY_STATUS if memory else FAULT_STATUS
