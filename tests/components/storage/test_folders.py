"""Folders by digest: complete or absent, verified, and moved only once."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from components.errors import StorageError
from components.settings import StorageConfig
from components.storage import Store, folders, open_store
from components.storage.folders import MANIFEST

FILES = {"config.json": b"{}", "model.safetensors": b"weights" * 1000, "sub/tokenizer.json": b"[]"}


class MemoryStore:
    """Objects in a dictionary, counting transfers; it fails before the transfer `fail_at`."""

    uri = "memory://"

    def __init__(self, fail_at: int = -1) -> None:
        self.objects: dict[str, bytes] = {}
        self.num_transfers = 0
        self.fail_at = fail_at

    def read(self, key: str) -> bytes:
        return self.objects[key]

    def write(self, key: str, data: bytes) -> None:
        self._count()
        self.objects[key] = data

    def exists(self, key: str) -> bool:
        return key in self.objects

    def create(self, key: str, data: bytes) -> bool:
        return self.objects.setdefault(key, data) is data

    def list(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def delete(self, key: str) -> None:
        self.objects.pop(key, None)

    def upload_file(self, path: str | Path, key: str, *, known: bool = False) -> None:
        self._count()
        self.objects[key] = Path(path).read_bytes()

    def download_file(self, key: str, path: str | Path) -> None:
        self._count()
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(self.objects[key])

    def _count(self) -> None:
        if self.num_transfers == self.fail_at:
            raise ConnectionError("cut")
        self.num_transfers += 1


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "model")


def make_folder(root: Path) -> Path:
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def test_there_and_back(store: Store, model: Path, tmp_path: Path) -> None:
    ref = store.upload_folder(model, "optimizers")
    found = store.download_folder(ref, tmp_path / "cache")
    assert {name: (found / name).read_bytes() for name in FILES} == FILES
    assert ref.uri == f"{store.uri}/optimizers/{ref.sha256}"
    assert ref.bytes == sum(len(data) for data in FILES.values())


def test_the_digest_is_of_the_canonical_manifest(model: Path) -> None:
    files = ",".join(
        f'{{"bytes":{len(data)},"path":"{name}","sha256":"{hashlib.sha256(data).hexdigest()}"}}'
        for name, data in FILES.items()
    )
    expected = hashlib.sha256(f'{{"files":[{files}],"schema_version":1}}'.encode()).hexdigest()
    assert folders.upload(MemoryStore(), model, "policies", 2).sha256 == expected


def test_nothing_moves_if_it_is_there(model: Path) -> None:
    store = MemoryStore()
    first = folders.upload(store, model, "policies", 2)
    moved = store.num_transfers
    assert folders.upload(store, model, "policies", 2) == first
    assert store.num_transfers == moved == len(FILES) + 1


def test_a_stored_folder_stored_again_has_the_same_digest(
    store: Store, model: Path, tmp_path: Path
) -> None:
    ref = store.upload_folder(model)
    assert store.upload_folder(store.download_folder(ref, tmp_path / "cache")) == ref


@pytest.mark.parametrize("fail_at", range(len(FILES) + 1))
def test_cut_anywhere_there_is_no_manifest(model: Path, fail_at: int) -> None:
    store = MemoryStore(fail_at)
    with pytest.raises(ConnectionError):
        folders.upload(store, model, "policies", 1)
    assert not [key for key in store.objects if key.endswith(MANIFEST)]
    store.fail_at = -1
    folders.upload(store, model, "policies", 1)
    assert len(store.objects) == len(FILES) + 1


def test_the_cache_is_used(model: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    ref = folders.upload(store, model, "policies", 2)
    first = folders.download(store, ref, tmp_path / "cache", 2)
    moved = store.num_transfers
    assert folders.download(store, ref, tmp_path / "cache", 2) == first
    assert store.num_transfers == moved
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [ref.sha256]


def test_a_damaged_cache_is_fetched_again(model: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    ref = folders.upload(store, model, "policies", 2)
    damaged = folders.download(store, ref, tmp_path / "cache", 2) / "config.json"
    damaged.write_bytes(b"[]")
    folders.download(store, ref, tmp_path / "cache", 2)
    assert damaged.read_bytes() == FILES["config.json"]


def test_a_cut_download_leaves_no_folder(model: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    ref = folders.upload(store, model, "policies", 1)
    store.fail_at = store.num_transfers + 1
    with pytest.raises(ConnectionError):
        folders.download(store, ref, tmp_path / "cache", 1)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_changed_object_is_named_with_both_digests(
    store: Store, model: Path, tmp_path: Path
) -> None:
    ref = store.upload_folder(model)
    changed = b"Weights" + FILES["model.safetensors"][7:]
    store.write(f"policies/{ref.sha256}/model.safetensors", changed)
    contents = (FILES["model.safetensors"], changed)
    expected, got = (hashlib.sha256(data).hexdigest() for data in contents)
    words = f"model.safetensors: sha256 expected {expected}, got {got}"
    with pytest.raises(StorageError, match=words):
        store.download_folder(ref, tmp_path / "cache")


def _shorten(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"{")


def _remove(folder: Path) -> None:
    (folder / "config.json").unlink()


def _add(folder: Path) -> None:
    (folder / "extra.py").write_text("")


def _empty(folder: Path) -> None:
    (folder / MANIFEST).unlink()


def _forge(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).write_text('{"files":[],"schema_version":1}')


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_shorten, "config.json: expected 2 bytes, got 1"),
        (_remove, "config.json: missing, expected 2 bytes"),
        (_add, r"files \['extra.py'\] are not in the manifest"),
        (_empty, "no such folder"),
        (_forge, f"{MANIFEST}: sha256 expected"),
    ],
)
def test_damage_in_place_is_found(
    file_store: Store, model: Path, damage: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    ref = file_store.upload_folder(model)
    folder = file_store.download_folder(ref, tmp_path)
    for path in folder.rglob("*"):
        path.chmod(0o755)
    damage(folder)
    with pytest.raises(StorageError, match=words):
        file_store.download_folder(ref, tmp_path)


def test_stored_files_are_read_only(file_store: Store, model: Path, tmp_path: Path) -> None:
    folder = file_store.download_folder(file_store.upload_folder(model), tmp_path)
    assert {os.stat(path).st_mode & 0o222 for path in folder.rglob("*") if path.is_file()} == {0}


def test_links_are_refused(file_store: Store, model: Path) -> None:
    (model / "link").symlink_to("/etc/passwd")
    with pytest.raises(StorageError, match=r"link: is a link; put the file"):
        file_store.upload_folder(model)


def test_an_empty_folder_is_refused(file_store: Store, tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(StorageError, match="expected a folder with at least one file"):
            file_store.upload_folder(path / "absent")


def test_a_manifest_cannot_lead_outside(tmp_path: Path) -> None:
    store = MemoryStore()
    data = folders.encode([folders.Entry("../out", 1, "0" * 64)])
    digest = hashlib.sha256(data).hexdigest()
    store.objects[f"policies/{digest}/{MANIFEST}"] = data
    ref = folders.FolderRef(f"{store.uri}/policies/{digest}", digest, 1)
    with pytest.raises(StorageError, match="expected a relative path"):
        folders.download(store, ref, tmp_path, 1)


def test_a_ref_of_another_store_is_refused(
    file_store: Store, s3_settings: StorageConfig, model: Path, tmp_path: Path
) -> None:
    ref = file_store.upload_folder(model)
    with pytest.raises(StorageError, match="not in this run's store; .* in which it began"):
        open_store(s3_settings).download_folder(ref, tmp_path / "cache")
