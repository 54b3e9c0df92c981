"""Files that appear whole or not at all, and clear words when a disk refuses."""

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from components.errors import StorageError

SCRATCH = ".partial-"
"""Begins the name of a file that is being written; such files are never listed."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full(error: BaseException) -> bool:
    """Whether the error says that a disk, a quota or a file size limit is used up."""
    return (
        isinstance(error, OSError) and error.errno in _FULL
    ) or "No space left on device" in str(error)


def written_path(error: BaseException) -> str | None:
    """The file that could not be written, if the error knows; of a copy its target."""
    path = getattr(error, "filename2", None) or getattr(error, "filename", None)
    return None if path is None else str(path)


def fullest(folders: Iterable[str]) -> str:
    """The folder on the disk with the least free space; those that do not exist are left out."""
    existing = [folder for folder in folders if os.path.isdir(folder)]
    return min(existing, key=lambda folder: shutil.disk_usage(folder).free)


def check_key(key: str) -> str:
    """The key itself; StorageError if it could lead out of the store."""
    parts = PurePosixPath(key).parts
    plain = key == "/".join(parts) and "\\" not in key and "\0" not in key
    if not parts or not plain or key.startswith("/") or ".." in parts:
        raise StorageError(f"key {key!r}: expected a relative path without '..', '//' or '\\'")
    return key


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into a StorageError that names the path."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise StorageError(
                f"{path}: the disk is full ({os.strerror(error.errno or errno.ENOSPC)}); "
                "free space or move the store, the cache or the pipeline root"
            ) from error
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextmanager
def scratch_beside(target: Path) -> Iterator[Path]:
    """A name in the target's folder for a file under way; it is removed if it is left over."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f"{SCRATCH}{uuid.uuid4().hex[:12]}")
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(scratch: Path, target: Path) -> None:
    """Give a finished file its name, replacing what had it."""
    sync(scratch)
    os.replace(scratch, target)
    sync(target.parent)
