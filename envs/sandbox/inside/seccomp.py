"""The system calls a program may make: a BPF filter, assembled by hand and installed for good.

Allowed are the calls in `numbers.py`; every other is answered EPERM, newer ones ENOSYS, and a
call in a foreign instruction set (32-bit on x86_64, x32) ends the process. What files a path may
name is Landlock's part.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Sequence

from envs.sandbox.inside import kernel, numbers

KILL_PROCESS, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
X32_BIT = 0x40000000
CLONE_THREAD, CLONE_NEW = 0x00010400, 0x7E020080
"""A thread shares its descriptors: those of a table of its own would not be counted."""
CLOSE_RANGE_UNSHARE = 2
FCNTL = (0, 1, 2, 3, 4, 1030, 1032)
"""Duplicates, flags, the size of a pipe: not the owner of a signal (F_SETOWN), nor locks, which
other processes see."""
FUTEX_PRIVATE = 0x80
SHARED_WAITS = (0, 9, 0x100, 0x109)
"""WAIT and WAIT_BITSET, by either clock; the C library joins threads by them."""
IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Is it a terminal, its size, bytes to read, non-blocking, close-on-exec."""
AF_UNIX, SOCK_STREAM = 1, 1
ACCESS_MODE, TRUNCATE, NAMELESS = 0o3, 0o1000, 0o20000000

Code = list[tuple[int, int, int, int]]
"""Instructions: operation, jump if true, jump if false, constant."""

DENY: Code = [(RETURN, 0, 0, ERRNO | errno.EPERM)]
PERMIT: Code = [(RETURN, 0, 0, ALLOW)]


def install(code: bytes) -> None:
    """For this thread and all it starts; needs no_new_privs. OSError if the kernel refuses."""
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(instructions))
    number = numbers.INSTALL_SECCOMP[platform.machine()]
    kernel.syscall(number, 1, 0, ctypes.create_string_buffer(program, len(program)))


def assemble(machine: str) -> bytes:
    """The filter for an architecture; KeyError for one that `numbers.py` does not list."""
    column = numbers.COLUMN[machine]
    code: Code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, numbers.AUDIT_ARCH[machine])]
    code += [(RETURN, 0, 0, KILL_PROCESS), (LOAD, 0, 0, 0)]
    code += [(AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL_PROCESS)]
    for name, body in _checked_calls().items():
        code += _when(numbers.CHECKED[name][column], body)
    for row in numbers.ALLOWED.values():
        code += _when(row[column], PERMIT)
    missing = (RETURN, 0, 0, ERRNO | errno.ENOSYS)
    code += [(EQUAL, 0, 1, numbers.CLONE3), missing, (AT_LEAST, 0, 1, numbers.NEWER), missing]
    return pack([*code, *DENY])


def pack(code: Code) -> bytes:
    """Instructions as the kernel reads them."""
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def _checked_calls() -> dict[str, Code]:
    return {
        "clone": [
            *_masked(0, CLONE_NEW, 0, otherwise=DENY),
            *_masked(0, CLONE_THREAD, CLONE_THREAD, otherwise=DENY),
            *PERMIT,
        ],
        "prlimit64": [(LOAD, 0, 0, _low(0)), (EQUAL, 1, 0, 0), *DENY, *PERMIT],
        "fcntl": _one_of(1, FCNTL),
        "futex": _no_waiting_with_others(),
        "close_range": [*_masked(2, CLOSE_RANGE_UNSHARE, 0, otherwise=DENY), *PERMIT],
        "ioctl": _one_of(1, IOCTL),
        "socketpair": [
            (LOAD, 0, 0, _low(0)), (EQUAL, 1, 0, AF_UNIX), *DENY,
            *_masked(1, 0xF, SOCK_STREAM, otherwise=DENY), *PERMIT,
        ],
        "open": _open_flags(1),
        "openat": _open_flags(2),
    }  # fmt: skip


def _open_flags(argument: int) -> Code:
    """No O_TMPFILE; O_TRUNC only with a right to write: old Landlock versions do not look at it."""
    return [
        *_masked(argument, NAMELESS, 0, otherwise=DENY),
        *_masked(argument, ACCESS_MODE | TRUNCATE, TRUNCATE, otherwise=PERMIT),
        *DENY,
    ]


def _no_waiting_with_others() -> Code:
    """A futex in a file's page is seen by all who map it. A wait is told to look again: it spins,
    which is right and costs only the program's own time."""
    spin: Code = [(RETURN, 0, 0, ERRNO | errno.EAGAIN)]
    code = _masked(1, FUTEX_PRIVATE, 0, otherwise=PERMIT)
    return [*code, *_one_of(1, SHARED_WAITS, then=spin)]


def _when(number: int | None, body: Code) -> Code:
    """`body`, which always returns, for one system call; its number stays loaded otherwise."""
    return [] if number is None else [(EQUAL, 0, len(body), number), *body]


def _masked(argument: int, mask: int, value: int, otherwise: Code) -> Code:
    """Go on if `argument & mask == value`; `otherwise` is one returning instruction."""
    return [(LOAD, 0, 0, _low(argument)), (AND, 0, 0, mask), (EQUAL, 1, 0, value), *otherwise]


def _one_of(argument: int, values: Sequence[int], then: Code = PERMIT) -> Code:
    """`then` is one returning instruction."""
    code: Code = [(LOAD, 0, 0, _low(argument))]
    for value in values:
        code += [(EQUAL, 0, 1, value), *then]
    return [*code, *DENY]


def _low(argument: int) -> int:
    """Where the lower half of an argument lies (both architectures are little-endian)."""
    return 16 + 8 * argument
