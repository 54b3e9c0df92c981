"""The local cache of downloaded folders: bounded, least recently used first, none that is in use.

A folder is in use by every process that fetched it, until that process ends: each holds a shared
lock on `.locks/<digest>`, whose time says when the folder was last asked for. Where the file
system has no locks, nothing is removed. Bases that were converted (`bases/`) do not count.
"""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from components.policies import FolderRef
from components.storage import folders

LOCKS = ".locks"
STALE_S = 24 * 3600.0
"""What a killed download left is removed after this time."""
_FOLDER = re.compile(r"[0-9a-f]{64}")
_LEFT = re.compile(r"[0-9a-f]{64}\.(partial|damaged)-[0-9a-f]+")
_held: dict[Path, int] = {}
_held_lock = Lock()


def fetch(
    store: folders.Objects, ref: FolderRef, cache: Path, concurrency: int, limit_gib: float | None
) -> Path:
    """The folder as `<cache>/<sha256>`, in use from now on; others leave if there is no room."""
    hold(cache, ref.sha256)
    if limit_gib is not None:
        new = 0 if (cache / ref.sha256).exists() else ref.bytes
        shrink(cache, int(limit_gib * 2**30) - new)
    return folders.download(store, ref, cache, concurrency)


def hold(cache: Path, digest: str) -> None:
    """Mark a folder as used now, and as in use until this process ends."""
    path = _lock_path(cache, digest)
    with _held_lock:
        if path not in _held:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            with suppress(OSError):  # no locks here: then none is removed either
                fcntl.flock(file, fcntl.LOCK_SH)
            _held[path] = file
        os.utime(path)


def shrink(cache: Path, limit_bytes: int) -> list[str]:
    """Remove unused folders, the least recently used first, until the rest fits; their digests."""
    _sweep(cache)
    by_use = sorted(_folders(cache), key=lambda path: _used(cache, path.name))
    sizes = {path: _size(path) for path in by_use}
    total, removed = sum(sizes.values()), []
    for path in by_use:
        if total <= limit_bytes:
            break
        with _unused(cache, path.name) as free:
            if free:
                if path.exists():  # else another process was quicker
                    folders.discard(path)
                    removed.append(path.name)
                total -= sizes[path]
    return removed


def _sweep(cache: Path) -> None:
    for path in cache.iterdir() if cache.is_dir() else ():
        with suppress(OSError):
            if _LEFT.fullmatch(path.name) and time.time() - path.stat().st_mtime > STALE_S:
                shutil.rmtree(path, ignore_errors=True)


def _folders(cache: Path) -> Iterator[Path]:
    for path in cache.iterdir() if cache.is_dir() else ():
        if _FOLDER.fullmatch(path.name) and path.is_dir():
            yield path


def _used(cache: Path, digest: str) -> float:
    """When the folder was last asked for; of one from before there were locks, when it came."""
    for path in (_lock_path(cache, digest), cache / digest):
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0


@contextmanager
def _unused(cache: Path, digest: str) -> Iterator[bool]:
    """Whether no process uses the folder; meanwhile none begins to."""
    path = _lock_path(cache, digest)
    with _held_lock:
        if path in _held:
            yield False
            return
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(file)


def _lock_path(cache: Path, digest: str) -> Path:
    path = cache.absolute() / LOCKS / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _size(folder: Path) -> int:
    """Bytes; of a folder that another process is removing, 0 or what is left."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(parent, name).stat().st_size
    return total
