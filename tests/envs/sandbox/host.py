"""A host worth attacking: a secret file, a grader's file, a victim process, listening sockets.

Whether an attack got anywhere is read from this side, never from what the attacker says alone.
"""

import json
import os
import secrets
import select
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import psutil

GRADE = "wrong\n"


class Host:
    """Targets of one attack after the other; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._parent = folder
        self._stack = ExitStack()
        self.listeners: dict[str, socket.socket] = {}

    def __enter__(self) -> "Host":
        self.secret = secrets.token_hex(16)
        self.folder = Path(tempfile.mkdtemp(dir=self._parent))
        self.secret_file, self.grade_file = self.folder / "secret", self.folder / "grade"
        self.secret_file.write_text(self.secret)
        self.grade_file.write_text(GRADE)
        self.grade_file.chmod(0o640)
        os.utime(self.grade_file, (1, 1))
        self._listen()
        memory = self._stack.enter_context(os.fdopen(os.memfd_create("secret"), "w+"))
        memory.write(self.secret)
        memory.flush()
        self.victim = subprocess.Popen(["sleep", "600"], env={"SECRET": self.secret}, stdin=memory)
        while not Path(f"/proc/{self.victim.pid}/environ").read_bytes():
            time.sleep(0.001)  # it has not become that program yet
        self.nice = self._process().nice()  # of whoever runs the tests
        return self

    def __exit__(self, *_: object) -> None:
        self.victim.kill()
        self.victim.wait()
        self._stack.close()

    def renew(self) -> None:
        """Targets as good as new, after an attack that got through."""
        self.__exit__()
        self.__enter__()

    def _listen(self) -> None:
        name = f"rolewise-{secrets.token_hex(8)}"
        kinds = {
            "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "unix": (socket.AF_UNIX, socket.SOCK_STREAM, str(self.folder / "stream")),
            "datagram": (socket.AF_UNIX, socket.SOCK_DGRAM, str(self.folder / "datagram")),
            "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{name}"),
        }
        for kind, (family, style, address) in kinds.items():
            listener = self._stack.enter_context(socket.socket(family, style))
            listener.bind(address)
            if style == socket.SOCK_STREAM:
                listener.listen()
            self.listeners[kind] = listener

    def targets(self) -> str:
        """What an attacker is told, as JSON: everything but the secret."""
        return json.dumps({
            "folder": str(self.folder), "secret": str(self.secret_file),
            "grade": str(self.grade_file), "victim": self.victim.pid,
            "tcp": self.listeners["tcp"].getsockname()[1],
            "udp": self.listeners["udp"].getsockname()[1],
            "unix": str(self.folder / "stream"), "datagram": str(self.folder / "datagram"),
            "abstract": self.listeners["abstract"].getsockname().decode()[1:],
            "package": psutil.__file__, "project": __file__,
        })  # fmt: skip

    def damage(self, said: str, complained: str = "") -> list[str]:
        """What an attack did, seen from here."""
        found = []
        if self.secret in said + complained:
            found.append("the secret was read")
        if "ESCAPED" in said:
            found.append(said[said.index("ESCAPED") :].splitlines()[0])
        if sorted(path.name for path in self.folder.iterdir()) != sorted(
            ["secret", "grade", "stream", "datagram"]
        ):
            found.append("the folder's entries changed")
        elif self.grade_file.read_text() != GRADE:
            found.append("the grader's file was written")
        elif (status := self.grade_file.stat()) and (status.st_mode & 0o777, status.st_mtime) != (
            0o640,
            1,
        ):
            found.append("the grader's file has other attributes")
        ready, _, _ = select.select(list(self.listeners.values()), [], [], 0)
        found += [f"{kind} was reached" for kind, one in self.listeners.items() if one in ready]
        if self.victim.poll() is not None or self._process().status() == psutil.STATUS_STOPPED:
            found.append("the victim was ended or stopped")
        elif self._process().nice() != self.nice or self._process().rlimit(psutil.RLIMIT_CORE) == (
            0,
            1,
        ):
            found.append("the victim's settings were changed")
        return found

    def _process(self) -> psutil.Process:
        return psutil.Process(self.victim.pid)
