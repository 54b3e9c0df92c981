"""The fork server: a warm interpreter that forks lanes and never runs anybody's code.

It is started with a clean environment, holds no secret, and ends when the other side closes or
dies; its lanes die with it, and their runs with them.
"""

import gc
import importlib
import os
import shutil
import signal
import site
import socket
import sys
import traceback
from importlib.machinery import ModuleSpec, PathFinder
from itertools import count

from envs.sandbox.inside import kernel, landlock, readable
from envs.sandbox.inside.jail import Jail, make_filter
from envs.sandbox.inside.lane import serve
from envs.sandbox.inside.settings import Settings, decode

PRELOADED = (
    "abc", "array", "ast", "bisect", "cmath", "collections", "collections.abc", "contextlib",
    "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "heapq",
    "inspect", "io", "itertools", "json", "linecache", "math", "numbers", "operator", "random",
    "re", "statistics", "string", "struct", "sys", "textwrap", "threading", "time", "traceback",
    "typing",
)  # fmt: skip
"""What programs import most: loaded once, shared by all runs."""


class Named:
    """Finds the third-party packages that programs may import; others do not exist for them."""

    def __init__(self, settings: Settings) -> None:
        self._names, self._folders = settings.packages, settings.package_folders

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """What `sys.meta_path` asks for."""
        return PathFinder.find_spec(name, self._folders) if name in self._names else None


def main(configuration: str, control: int) -> None:
    """`configuration`: encoded settings; `control`: our end of a pair, which asks for lanes."""
    settings = decode(configuration)
    os.set_blocking(sys.stderr.fileno(), False)  # a lane that dies waits for nobody to listen
    sys.meta_path.append(Named(settings))
    sys.dont_write_bytecode = True
    for name in (*PRELOADED, *settings.packages):
        importlib.import_module(name)
    site.setquit()  # `exit` and `quit`, which no site-packages come with here
    sys.set_int_max_str_digits(0)  # long numbers are judged too; CPU seconds limit them
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)  # `random` is seeded in every child, after the fork
    gc.collect()
    gc.freeze()
    for lane in _accept(socket.socket(fileno=control), settings):
        os.kill(lane, signal.SIGKILL)
        os.waitpid(lane, 0)
    shutil.rmtree(settings.folder, ignore_errors=True)


def _accept(control: socket.socket, settings: Settings) -> list[int]:
    """Fork a lane for each that is asked for; their process ids, once the other side closes."""
    lanes: list[int] = []
    server, number = os.getpid(), count()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return lanes
        if not descriptors:  # are we here
            continue
        folder = os.path.join(settings.folder, str(next(number)))
        lane = os.fork()
        if lane == 0:
            control.close()
            _become_lane(server, descriptors[0], folder, settings)
        lanes = [*filter(_alive, lanes), lane]
        os.close(descriptors[0])


def _alive(lane: int) -> bool:
    """Reaps it if it has ended."""
    return os.waitpid(lane, os.WNOHANG) == (0, 0)


def _become_lane(server: int, requests: int, folder: str, settings: Settings) -> None:
    """In the child; never returns."""
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == server:
            serve(socket.socket(fileno=requests), _make_jail(settings), folder)
    except BaseException:  # the reason goes to the server's output, which is read when it fails
        traceback.print_exc()
    finally:
        os._exit(0)


def _make_jail(settings: Settings) -> Jail:
    files = [*readable.standard_library(), *readable.shared_libraries(), *settings.package_paths]
    library = [os.path.dirname(os.__file__)]
    try:
        allowed = landlock.allow(files, library, readable.DEVICES, landlock.abi())
        os.close(landlock.make_ruleset(allowed, settings.folder))
    except OSError:  # the layer is missing, and named by `guarantees.py`
        allowed = None
    return Jail(settings.limits, allowed, make_filter())
