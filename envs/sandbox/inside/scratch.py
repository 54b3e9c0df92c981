"""A run's scratch folder: made for it alone, measured while it runs, removed behind it.

No two runs have the same folder, so nothing that one leaves in its own or at its own reaches
another: names, contents, sizes, times. What a program may do in it is `landlock.py`'s part.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from envs.sandbox.inside.jail import FILE_BYTES

MOST_FILES, MOST_FILE_BYTES = 256, 32 * 2**20


@contextmanager
def scratch_in(folder: str) -> Iterator[str]:
    """A new folder; OSError if none can be made. One that cannot be removed is not used again."""
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    for number in count():
        path = os.path.join(folder, str(number))
        try:
            os.mkdir(path, 0o700)
            break
        except FileExistsError:
            continue
    try:
        yield path
    finally:
        _remove(path)


def _remove(path: str) -> None:
    """It holds plain files only: both the filter and Landlock see to that."""
    try:
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        os.rmdir(path)
    except OSError:  # both layers are missing, and accepted so
        shutil.rmtree(path, ignore_errors=True)


def too_much_in(scratch: str, child: int | None = None) -> bool:
    """More files or bytes than a run may have at a time; those of a living `child` without names
    too. Nothing that a program does in the meantime raises."""
    try:
        held = _nameless(scratch, child) if child else 0
        for number, entry in enumerate(os.scandir(scratch)):
            with suppress(FileNotFoundError):  # it has just been removed
                held += entry.stat(follow_symlinks=False).st_blocks * 512
            if number >= MOST_FILES or held > MOST_FILE_BYTES:
                return True
    except OSError:  # it has just ended, or /proc is masked
        return False
    return held > MOST_FILE_BYTES


def _nameless(scratch: str, child: int) -> int:
    """Bytes of files that were removed, and that a descriptor or a mapping keeps. A mapping does
    not tell how much its file holds: it counts as the most that one may."""
    inside, gone = os.fsencode(scratch) + b"/", b" (deleted)"
    opened: dict[tuple[int, int], int] = {}
    for name in os.listdir(f"/proc/{child}/fd"):
        path = f"/proc/{child}/fd/{name}"
        with suppress(FileNotFoundError):  # just closed
            if os.fsencode(os.readlink(path)).startswith(inside):
                found = os.stat(path)
                opened[found.st_dev, found.st_ino] = 0 if found.st_nlink else found.st_blocks * 512
    with open(f"/proc/{child}/maps", "rb") as file:
        lines = [line for line in file.read().splitlines() if line.endswith(gone)]
    mapped = {tuple(line.split()[3:5]) for line in lines if inside in line}
    return sum(opened.values()) + FILE_BYTES * len(mapped)
