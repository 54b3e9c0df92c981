"""A folder is removed or used, never both: whoever wins the next number of its log decides."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from components.errors import StorageError
from components.policies import FolderRef
from components.storage import Store, removal
from components.storage.folders import MANIFEST, key_of
from components.storage.removal import Action, Entry


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / name).write_text(name * 1000)
    return folder


def marked(store: Store, ref: FolderRef) -> tuple[str, Entry]:
    """The folder's key and its last entry, a mark."""
    key = key_of(store.uri, ref)
    assert removal.append(store, key, Action.MARKED, "old", removal.last(store, key))
    return key, _last(store, key)


def _last(store: Store, key: str) -> Entry:
    entry = removal.last(store, key)
    assert entry is not None
    return entry


def test_a_removed_folder_says_when_and_why(store: Store, model: Path, tmp_path: Path) -> None:
    ref = store.upload_folder(model)
    key, entry = marked(store, ref)
    assert removal.remove(store, key, MANIFEST, "policy tool@3 of run r", entry)
    assert store.list(f"{key}/") == []
    words = r"was removed by `gc` at .* UTC: policy tool@3 of run r; docs/storage.md"
    with pytest.raises(StorageError, match=words):
        store.download_folder(ref, tmp_path / "cache")


def test_a_removed_folder_can_be_stored_again(store: Store, model: Path, tmp_path: Path) -> None:
    ref = store.upload_folder(model)
    key, entry = marked(store, ref)
    removal.remove(store, key, MANIFEST, "old", entry)
    assert store.upload_folder(model) == ref
    assert store.download_folder(ref, tmp_path / "cache").is_dir()
    assert removal.remove(store, *marked(store, ref)[:1], MANIFEST, "old", _last(store, key))
    assert not store.exists(f"{key}/{MANIFEST}")


@pytest.mark.parametrize("use", ["upload", "download", "download from the cache"])
def test_a_marked_folder_that_is_used_stays(
    store: Store, model: Path, tmp_path: Path, use: str
) -> None:
    ref = store.upload_folder(model)
    if use == "download from the cache":
        store.download_folder(ref, tmp_path / "cache")
    key, entry = marked(store, ref)
    if use == "upload":
        store.upload_folder(model)
    else:
        store.download_folder(ref, tmp_path / "cache")
    assert not removal.remove(store, key, MANIFEST, "old", entry)
    assert store.download_folder(ref, tmp_path / "cache").is_dir()
    assert _last(store, key).action is Action.KEPT


def test_who_may_only_read_reads_on(
    file_store: Store, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        raise StorageError("refused the credentials")

    ref = file_store.upload_folder(model)
    marked(file_store, ref)
    monkeypatch.setattr(file_store, "create", refuse)
    assert file_store.download_folder(ref, tmp_path / "cache").is_dir()


def test_remover_and_user_at_once(file_store: Store, model: Path, tmp_path: Path) -> None:
    """Whoever wins, the folder is whole once the upload has returned; each is late now and then."""
    ref = file_store.upload_folder(model)
    outcomes = set()
    removal_poll, together = removal.POLL_S, Barrier(2)
    removal.POLL_S = 0.001
    try:
        for turn in range(60):
            key, entry = marked(file_store, ref)

            def remove(key: str = key, entry: Entry = entry, late: bool = turn % 3 == 1) -> bool:
                together.wait()
                time.sleep(0.05 * late)
                return removal.remove(file_store, key, MANIFEST, "old", entry)

            def use(late: bool = turn % 3 == 2) -> FolderRef:
                together.wait()
                time.sleep(0.05 * late)
                return file_store.upload_folder(model)

            with ThreadPoolExecutor(2) as pool:
                removed, _ = pool.submit(remove), pool.submit(use).result()
                outcomes.add(removed.result())
            assert file_store.download_folder(ref, tmp_path / "cache").is_dir()
    finally:
        removal.POLL_S = removal_poll
    assert outcomes == {True, False}


def test_an_upload_waits_for_a_removal_and_overtakes_a_dead_one(
    file_store: Store, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "POLL_S", 0.01)
    monkeypatch.setattr(removal, "LEASE_S", 0.3)
    ref = file_store.upload_folder(model)
    key, entry = marked(file_store, ref)
    removal.append(file_store, key, Action.REMOVING, "old", entry)  # and then it is killed
    file_store.delete(f"{key}/{MANIFEST}")
    began = time.monotonic()
    assert file_store.upload_folder(model) == ref
    assert time.monotonic() - began >= 0.3
    assert file_store.exists(f"{key}/{MANIFEST}")
    assert not removal.append(file_store, key, Action.REMOVED, "old", _last_but_one(key, entry))


def _last_but_one(key: str, entry: Entry) -> Entry:
    return Entry(Action.REMOVING, 0.0, "", entry.number + 1)


def test_a_removal_that_was_cut_short_is_finished(file_store: Store, model: Path) -> None:
    ref = file_store.upload_folder(model)
    key, entry = marked(file_store, ref)
    removal.append(file_store, key, Action.REMOVING, "old", entry)
    file_store.delete(f"{key}/{MANIFEST}")
    assert removal.remove(file_store, key, MANIFEST, "old", _last(file_store, key))
    assert file_store.list(f"{key}/") == []
    assert _last(file_store, key).action is Action.REMOVED


def test_a_slow_remover_stops_before_others_take_it_for_dead(
    file_store: Store, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "LEASE_S", 0.0)
    ref = file_store.upload_folder(model)
    key, entry = marked(file_store, ref)
    with pytest.raises(StorageError, match="run gc again"):
        removal.remove(file_store, key, MANIFEST, "old", entry)
