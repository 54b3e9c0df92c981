"""The few calls into the kernel that Python's standard library does not offer. No policy."""

import ctypes
import os
import struct

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


def syscall(number: int, *arguments: object) -> int:
    """The result; OSError with the kernel's reason if it is negative."""
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    return _checked(result, f"system call {number}")


def prctl(option: int, value: int) -> None:
    """OSError if the kernel refuses."""
    _checked(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def drop_capabilities() -> None:
    """Empty all three sets of this thread: root becomes a user like any other."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITY_VERSION_3, 0))
    _checked(_libc.capset(header, ctypes.create_string_buffer(24)), "capset")


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
