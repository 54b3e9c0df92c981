"""Try to break every guarantee, as a program in the sandbox would; print what succeeded, as JSON.

It reads from stdin where there is something to find: a file, listening sockets, the limits. It
is run as a program in the sandbox, and harms nothing where it succeeds.
"""

import ctypes
import json
import mmap
import os
import platform
import resource
import socket
import sys
from collections.abc import Callable
from typing import Any

NUMBERS = {"x86_64": {"unshare": 272, "ptrace": 101}, "aarch64": {"unshare": 97, "ptrace": 117}}
TRACE_ME, NEW_USER_NAMESPACE, IO_URING_SETUP = 0, 0x10000000, 425


def succeeds(attack: Callable[[], object]) -> bool:
    """True unless it is refused."""
    try:
        attack()
    except (OSError, MemoryError, ValueError):
        return False
    return True


def fork() -> None:
    """Succeeds for a moment only."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def write_above() -> None:
    """Where the next run's folder will lie."""
    open("../attempt", "w").close()
    os.unlink("../attempt")


def shell() -> None:
    """One that does nothing."""
    child = os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {})
    os.waitpid(child, 0)


def connect(family: int, kind: int, address: Any) -> None:
    """To a socket of the other side."""
    with socket.socket(family, kind) as client:
        client.connect(address)


def call(number: int, *arguments: int) -> None:
    """A raw system call; OSError if it is refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def raise_limit(which: int, most: int) -> None:
    """Ask for more than the limit, or find that it is higher already."""
    if resource.getrlimit(which)[1] in range(most + 1):
        resource.setrlimit(which, (most + 1, most + 1))


def attacks(given: dict[str, Any]) -> dict[str, dict[str, Callable[[], object]]]:
    """Guarantee -> what is tried -> how."""
    canary, numbers, ours = given["canary"], NUMBERS[platform.machine()], os.getppid()
    memory, stream, local = given["memory"], socket.SOCK_STREAM, ("127.0.0.1", given["port"])
    return {
        "filesystem": {
            "read a host file": lambda: open(canary).close(),
            "write a host file": lambda: open(canary, "a").close(),
            "change a host file's mode": lambda: os.chmod(canary, 0o600),
            "list a host folder": lambda: os.listdir(os.path.dirname(canary)),
            "list the folder above": lambda: os.listdir(".."),
            "write into the folder above": write_above,
            "read another's environment": lambda: open(f"/proc/{ours}/environ").close(),
        },
        "network": {
            "TCP": lambda: connect(socket.AF_INET, stream, local),
            "UDP": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, local),
            "a unix socket": lambda: connect(socket.AF_UNIX, stream, given["unix"]),
            "an abstract socket": lambda: connect(socket.AF_UNIX, stream, given["abstract"]),
        },
        "processes": {"fork": fork, "start a shell": shell},
        "signals": {"signal the fork server": lambda: os.kill(ours, 0)},
        "kernel": {
            "ptrace": lambda: call(numbers["ptrace"], TRACE_ME, 0, 0, 0),
            "a user namespace": lambda: call(numbers["unshare"], NEW_USER_NAMESPACE),
            "io_uring": lambda: call(IO_URING_SETUP, 1, 0),
        },
        "memory": {
            "map more than the limit": lambda: mmap.mmap(-1, memory).close(),
            "raise the limit": lambda: raise_limit(resource.RLIMIT_AS, memory),
        },
        "cpu": {"raise the limit": lambda: raise_limit(resource.RLIMIT_CPU, given["cpu"])},
    }


def main() -> None:
    """Print guarantee -> the attacks that succeeded."""
    found = {
        name: [what for what, attack in tried.items() if succeeds(attack)]
        for name, tried in attacks(json.load(sys.stdin)).items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
