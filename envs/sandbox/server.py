"""Start the fork server and open lanes to it. What a lane is asked is `attempt.py`'s part."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from envs.sandbox.inside.settings import Limits, Settings, encode
from envs.sandbox.options import SandboxOptions

BOOT = """
import sys, types
folder, configuration, control = sys.argv[1:]
for name, path in (("envs", folder), ("envs.sandbox", folder + "/sandbox")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
from envs.sandbox.inside.server import main
main(configuration, int(control))
"""
"""The packages around `inside` are not imported: they would bring pydantic along."""
FLAGS = ("-S", "-s", "-P", "-B", "-X", "utf8")
"""No site-packages, no user's packages, no current folder, no byte code written."""
ENVIRONMENT = {
    "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip
"""All that a program sees in `os.environ`."""
MOST_SAID = 8192
"""Bytes of the server's own words that are kept: the last ones."""


class Server:
    """A running fork server; not started before the first run needs it."""

    def __init__(self, options: SandboxOptions) -> None:
        self._idle: list[socket.socket] = []
        self._said, self._listening = b"", threading.Lock()
        places = [place for name in options.packages for place in _places(name)]
        self.folder = tempfile.mkdtemp(prefix="rolewise-sandbox-")
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = _settings(options, self.folder, places)
        envs = str(Path(__file__).parents[1])
        interpreter = getattr(sys, "_base_executable", sys.executable)
        with other:
            self.process = subprocess.Popen(
                [interpreter, *FLAGS, "-c", BOOT, envs, encode(settings), str(other.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env=_environment(), pass_fds=[other.fileno()], cwd="/", start_new_session=True,
            )  # fmt: skip
        assert self.process.stdout
        self._output = self.process.stdout
        os.set_blocking(self._output.fileno(), False)

    def take(self) -> socket.socket:
        """A connection to a lane that nobody else uses. OSError if the server is gone."""
        try:
            return self._idle.pop()
        except IndexError:
            pass
        self._listen()  # a lane that dies says why: one is asked for when one has died
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._control, [b"l"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def give_back(self, lane: socket.socket) -> None:
        """For the next run."""
        self._idle.append(lane)
        if self._control.fileno() < 0:  # closed in the meantime
            self._let_go()

    @property
    def running(self) -> bool:
        """False once it has died; one that is dying is waited for."""
        try:
            self._control.send(b"?")
        except OSError:
            return False
        return self.process.poll() is None

    def close(self) -> str:
        """End it and all that it runs; what it said, for a message."""
        self._let_go()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._listen()
        self._output.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self._said.decode(errors="replace").strip()

    def abandon(self) -> None:
        """In a forked copy of this process: let go without ending it."""
        self._let_go()
        self.process.returncode = 0  # not ours to wait for

    def _listen(self) -> None:
        """Keep the end of what it has said; a full pipe takes no more."""
        with self._listening, suppress(BlockingIOError):
            while not self._output.closed and (chunk := os.read(self._output.fileno(), 65536)):
                self._said = (self._said + chunk)[-MOST_SAID:]

    def _let_go(self) -> None:
        self._control.close()
        while self._idle:
            self._idle.pop().close()


def _environment() -> dict[str, str]:
    """Where the interpreter needs a search path for its own library, that too."""
    path = os.environ.get("LD_LIBRARY_PATH")
    return ENVIRONMENT | ({"LD_LIBRARY_PATH": path} if path else {})


def _settings(options: SandboxOptions, folder: str, places: Sequence[Path]) -> Settings:
    limits = Limits(options.cpu_s, options.wall_s, options.memory_mib * 2**20)
    folders = tuple(dict.fromkeys(str(path.parent) for path in places))
    return Settings(limits, folder, options.packages, folders, tuple(map(str, places)))


def _places(package: str) -> list[Path]:
    """A package's folder, and that of its bundled libraries."""
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or spec.origin is None:
        raise ValueError(
            f"sandbox.packages: {package!r} is not installed; expected the import name of a package"
        )
    place = Path(spec.origin)
    place = place.parent if spec.submodule_search_locations else place
    bundled = place.parent / f"{package}.libs"
    return [place, bundled] if bundled.exists() else [place]
