"""The files a program may open: a Landlock ruleset for each run, by what is opened once per lane.

Landlock governs opening, making and removing files; it does not hide that a path exists.
"""

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from stat import S_ISDIR
from typing import NamedTuple

from envs.sandbox.inside import kernel, numbers

WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_REG = (1 << bit for bit in (1, 2, 3, 5, 8))
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""ABI from which on -> every right over files that it can take away."""
NETWORK_ABI, ALL_NETWORK = 4, 0b11
SCOPE_ABI, ALL_SCOPES = 6, 0b11
ON_FILES = WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
DEVICE = READ_FILE | WRITE_FILE | TRUNCATE
PLAIN = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | REMOVE_FILE | MAKE_REG
"""In the scratch folder: plain files, no folders, links or pipes."""

ABOVE_RUNS = 64
"""Descriptors from here on are out of the way: those of a run stay low."""


def abi() -> int:
    """The kernel's Landlock version; OSError where it has none or it is switched off."""
    return kernel.syscall(numbers.LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))


class Allowed(NamedTuple):
    """What every run of a lane may open, held open so that each run's ruleset is quickly made."""

    version: int
    """Of Landlock: the kernel's, or an older one."""
    places: tuple[tuple[int, int], ...]
    """Rights, and a descriptor."""


def allow(
    files: Iterable[str], listed: Iterable[str], devices: Iterable[str], version: int
) -> Allowed:
    """`files` readable, folders `listed`. A path that does not exist is passed over."""
    wanted = {READ_FILE | READ_DIR: files, READ_DIR: listed, DEVICE: devices}
    places = []
    for rights, paths in wanted.items():
        for path in paths:
            with suppress(OSError):
                opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
                places.append((rights, fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, ABOVE_RUNS)))
                os.close(opened)
    return Allowed(version, tuple(places))


def make_ruleset(allowed: Allowed, scratch: str) -> int:
    """A descriptor: what is `allowed`, and plain files in `scratch`. OSError."""
    version = allowed.version
    handled = RIGHTS[max(known for known in RIGHTS if known <= version)]
    attributes = struct.pack(
        "QQQ", handled, ALL_NETWORK * (version >= NETWORK_ABI), ALL_SCOPES * (version >= SCOPE_ABI)
    )
    size = 24 if version >= SCOPE_ABI else 16 if version >= NETWORK_ABI else 8
    ruleset = kernel.syscall(
        numbers.LANDLOCK_CREATE, ctypes.create_string_buffer(attributes[:size], size),
        ctypes.c_size_t(size), ctypes.c_uint32(0),
    )  # fmt: skip
    opened = os.open(scratch, os.O_PATH | os.O_CLOEXEC)
    try:
        for rights, place in (*allowed.places, (PLAIN, opened)):
            _add_rule(ruleset, place, rights & handled)
    except OSError:
        os.close(ruleset)
        raise
    finally:
        os.close(opened)
    return ruleset


def restrict(ruleset: int) -> None:
    """For this thread and all it starts; needs no_new_privs."""
    kernel.syscall(numbers.LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))


def _add_rule(ruleset: int, place: int, rights: int) -> None:
    if not S_ISDIR(os.fstat(place).st_mode):
        rights &= ON_FILES
    rule = struct.pack("=Qi", rights, place)
    kernel.syscall(
        numbers.LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1),
        ctypes.create_string_buffer(rule, len(rule)), ctypes.c_uint32(0),
    )  # fmt: skip
