"""A run's scratch folder: made for it alone, measured while it runs, removed behind it.

No two runs have the same folder, so nothing that one leaves in its own or at its own reaches
another: names, contents, sizes, times. What a program may do in it is `landlock.py`'s part.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

MOST_FILES, MOST_FILE_BYTES = 256, 32 * 2**20


@contextmanager
def scratch_in(folder: str) -> Iterator[str]:
    """A new folder; OSError if none can be made. One that cannot be removed is not used again."""
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


def too_much_in(scratch: str) -> bool:
    """More files or bytes than a run may have at a time."""
    blocks = 0
    for number, entry in enumerate(os.scandir(scratch)):
        try:
            blocks += entry.stat(follow_symlinks=False).st_blocks
        except OSError:  # it has just been removed
            continue
        if number >= MOST_FILES or 512 * blocks > MOST_FILE_BYTES:
            return True
    return False
