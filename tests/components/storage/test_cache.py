"""The cache stays within its limit, and never takes a folder from under a process."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from components.policies import FolderRef
from components.storage import cache, folders
from tests.components.storage.test_folders import MemoryStore

KIB = 2**10
LIMIT_GIB = 100 * KIB / 2**30
"""Three folders of 30 KiB."""
HOLDER = """
import sys
from pathlib import Path
from components.storage.cache import hold
hold(Path(sys.argv[1]), sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _released(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a process of its own, as far as locks go."""
    monkeypatch.setattr(cache, "_held", {})


def stored(store: MemoryStore, folder: Path, name: str) -> FolderRef:
    (folder / name).mkdir()
    (folder / name / "weights").write_bytes(name.encode() * (30 * KIB))
    return folders.upload(store, folder / name, "policies", 1)


def let_go(digest: str) -> None:
    """As if the process that used it had ended."""
    for path in [path for path in cache._held if path.name == digest]:
        os.close(cache._held.pop(path))


def fetch(store: MemoryStore, ref: FolderRef, where: Path, limit: float | None = LIMIT_GIB) -> Path:
    found = cache.fetch(store, ref, where, 1, limit)
    time.sleep(0.01)  # so that times of use differ
    return found


def names(where: Path) -> set[str]:
    return {path.name for path in where.iterdir() if path.name != cache.LOCKS}


def test_the_least_recently_used_leaves(tmp_path: Path) -> None:
    store, where = MemoryStore(), tmp_path / "cache"
    a, b, c, d = (stored(store, tmp_path, name) for name in "abcd")
    for ref in (a, b, c, a):
        fetch(store, ref, where)
    for ref in (a, b, c):
        let_go(ref.sha256)
    fetch(store, d, where)
    assert names(where) == {a.sha256, c.sha256, d.sha256}


def test_what_this_process_uses_stays_even_over_the_limit(tmp_path: Path) -> None:
    store, where = MemoryStore(), tmp_path / "cache"
    refs = [stored(store, tmp_path, name) for name in "abcde"]
    found = [fetch(store, ref, where) for ref in refs]
    assert all((folder / "weights").is_file() for folder in found)


def test_what_another_process_uses_stays_until_it_ends(tmp_path: Path) -> None:
    store, where = MemoryStore(), tmp_path / "cache"
    a, b, c, d, e = (stored(store, tmp_path, name) for name in "abcde")
    for ref in (a, b, c):
        fetch(store, ref, where)
        let_go(ref.sha256)
    command = [sys.executable, "-c", HOLDER, str(where), a.sha256]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline() == b"held\n"
        for ref in (b, c):
            fetch(store, ref, where)
            let_go(ref.sha256)
        fetch(store, d, where)
        assert names(where) == {a.sha256, c.sha256, d.sha256}
        other.communicate()
    fetch(store, e, where)
    assert names(where) == {c.sha256, d.sha256, e.sha256}


def test_what_another_process_has_just_removed_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, where = MemoryStore(), tmp_path / "cache"
    refs = [stored(store, tmp_path, name) for name in "abc"]
    for ref in refs:
        fetch(store, ref, where)
        let_go(ref.sha256)
    unused = cache._unused

    @contextmanager
    def late(root: Path, digest: str) -> Iterator[bool]:
        if digest == refs[0].sha256:
            shutil.rmtree(root / digest)  # the other one had the lock until now
        with unused(root, digest) as free:
            yield free

    monkeypatch.setattr(cache, "_unused", late)
    assert cache.shrink(where, 40 * KIB) == [refs[1].sha256]
    assert names(where) == {refs[2].sha256}


def test_without_a_limit_all_stays(tmp_path: Path) -> None:
    store, where = MemoryStore(), tmp_path / "cache"
    refs = [stored(store, tmp_path, name) for name in "abcde"]
    for ref in refs:
        fetch(store, ref, where, None)
        let_go(ref.sha256)
    assert names(where) == {ref.sha256 for ref in refs}


def test_what_killed_downloads_left_goes_after_a_day(tmp_path: Path) -> None:
    store, where = MemoryStore(), tmp_path / "cache"
    ref = stored(store, tmp_path, "a")
    old, new = (where / f"{ref.sha256}.partial-{end}" for end in ("0123456789ab", "0123456789ac"))
    for path in (old, new, where / "bases"):
        path.mkdir(parents=True)
    os.utime(old, (0, time.time() - cache.STALE_S - 1))
    fetch(store, ref, where)
    assert names(where) == {ref.sha256, new.name, "bases"}


def test_file_systems_without_locks_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(cache.fcntl, "flock", refuse)
    store, where = MemoryStore(), tmp_path / "cache"
    refs = [stored(store, tmp_path, name) for name in "abcde"]
    for ref in refs:
        fetch(store, ref, where)
        let_go(ref.sha256)
    assert names(where) == {ref.sha256 for ref in refs}
