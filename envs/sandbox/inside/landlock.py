"""The files a program may open: a Landlock ruleset, made once per lane. Nothing is restricted here.

Landlock governs opening, making and removing files; it does not hide that a path exists.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from stat import S_ISDIR

from envs.sandbox.inside import kernel, numbers

WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_REG = (1 << bit for bit in (1, 2, 3, 5, 8))
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""ABI from which on -> every right over files that it can take away."""
NETWORK_ABI, ALL_NETWORK = 4, 0b11
SCOPE_ABI, ALL_SCOPES = 6, 0b11
ON_FILES = WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


def abi() -> int:
    """The kernel's Landlock version; OSError where it has none or it is switched off."""
    return kernel.syscall(numbers.LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))


def make_ruleset(
    files: Iterable[str], listed: Iterable[str], devices: Iterable[str], scratch: str, version: int
) -> int:
    """A descriptor: `files` readable, folders `listed`, `scratch` for plain files. OSError.

    `version`: the kernel's, or an older one.
    """
    handled = RIGHTS[max(known for known in RIGHTS if known <= version)]
    attributes = struct.pack(
        "QQQ", handled, ALL_NETWORK * (version >= NETWORK_ABI), ALL_SCOPES * (version >= SCOPE_ABI)
    )
    size = 24 if version >= SCOPE_ABI else 16 if version >= NETWORK_ABI else 8
    ruleset = kernel.syscall(
        numbers.LANDLOCK_CREATE, ctypes.create_string_buffer(attributes[:size], size),
        ctypes.c_size_t(size), ctypes.c_uint32(0),
    )  # fmt: skip
    plain = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | REMOVE_FILE | MAKE_REG
    for path in files:
        _allow(ruleset, path, handled & (READ_FILE | READ_DIR))
    for path in listed:
        _allow(ruleset, path, READ_DIR)
    for path in devices:
        _allow(ruleset, path, handled & (READ_FILE | WRITE_FILE | TRUNCATE))
    _allow(ruleset, scratch, handled & plain)
    return ruleset


def restrict(ruleset: int) -> None:
    """For this thread and all it starts; needs no_new_privs."""
    kernel.syscall(numbers.LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    """A path that does not exist is passed over."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not S_ISDIR(os.fstat(opened).st_mode):
            rights &= ON_FILES
        rule = struct.pack("=Qi", rights, opened)
        kernel.syscall(
            numbers.LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1),
            ctypes.create_string_buffer(rule, len(rule)), ctypes.c_uint32(0),
        )  # fmt: skip
    finally:
        os.close(opened)
