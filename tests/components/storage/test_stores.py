"""What every store promises, on a folder and on a real S3 server."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from components.errors import StorageError
from components.settings import StorageConfig
from components.storage import Store, open_store


def test_reads_what_was_written(store: Store) -> None:
    store.write("a/b", b"first")
    store.write("a/b", b"second")
    assert store.read("a/b") == b"second"
    assert store.exists("a/b")


def test_an_absent_object_is_named(store: Store, tmp_path: Path) -> None:
    assert not store.exists("a/b")
    for ask in (lambda: store.read("a/b"), lambda: store.download_file("a/b", tmp_path / "x")):
        with pytest.raises(StorageError, match=r"/a/b: no such object"):
            ask()
    assert not (tmp_path / "x").exists()


def test_lists_by_text_prefix_in_order(store: Store) -> None:
    for key in ("runs/b/2", "runs/b/1", "runs/bc/1", "other"):
        store.write(key, b"")
    assert store.list("runs/b/") == ["runs/b/1", "runs/b/2"]
    assert store.list("runs/b") == ["runs/b/1", "runs/b/2", "runs/bc/1"]
    assert store.list("nothing/") == []


def test_lists_more_than_one_page(s3_settings: StorageConfig) -> None:
    store = open_store(s3_settings)
    keys = [f"many/{i:04d}" for i in range(1003)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.write(key, b""), keys))
    assert store.list("many/") == keys


def test_deleting_twice_is_fine(store: Store) -> None:
    store.write("a", b"x")
    store.delete("a")
    store.delete("a")
    assert not store.exists("a")


def test_create_keeps_the_first(store: Store) -> None:
    assert store.create("a", b"first")
    assert not store.create("a", b"second")
    assert store.read("a") == b"first"


def test_of_many_creators_one_wins(store: Store) -> None:
    contents = [f"{i}".encode() for i in range(8)]
    num_races = 60 if store.uri.startswith("file") else 2  # the server takes a second for one
    together = Barrier(len(contents))

    def attempt(race: int, data: bytes) -> bool:
        together.wait()
        return store.create(f"race/{race}", data)

    with ThreadPoolExecutor(len(contents)) as pool:
        for race in range(num_races):
            won = list(pool.map(partial(attempt, race), contents))
            assert sum(won) == 1
            assert store.read(f"race/{race}") == contents[won.index(True)]


def test_readers_never_see_half_an_object(store: Store) -> None:
    contents = [bytes([i]) * 200_000 for i in range(4)]
    store.write("torn", contents[0])
    with ThreadPoolExecutor(8) as pool:
        writes = [pool.submit(store.write, "torn", content) for content in contents * 3]
        reads = [pool.submit(store.read, "torn") for _ in range(20)]
        assert all(read.result() in contents for read in reads)
        for write in writes:
            write.result()


def test_a_large_file_goes_there_and_back(store: Store, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "new" / "target"
    source.write_bytes(bytes(range(256)) * (2**12) * 18)  # 18 MiB: more than one part
    store.upload_file(source, "large")
    store.download_file("large", target)
    assert target.read_bytes() == source.read_bytes()
    assert [path.name for path in target.parent.iterdir()] == ["target"]


@pytest.mark.parametrize("key", ["../out", "a/../../out", "/etc/passwd", "a//b", "", ".", "a\\b"])
def test_keys_stay_inside(store: Store, key: str) -> None:
    for ask in (store.read, store.exists, store.delete, lambda key: store.write(key, b"")):
        with pytest.raises(StorageError, match="expected a relative path"):
            ask(key)


def test_uploading_a_missing_file_names_it(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"gone: no such file"):
        store.upload_file(tmp_path / "gone", "a")


def test_the_uri_stays_as_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "w").write_bytes(b"w")
    store = open_store(StorageConfig(uri="file://build/store/"))
    ref = store.upload_folder(tmp_path / "model")
    assert ref.uri == f"file://build/store/policies/{ref.sha256}"
    assert store.download_folder(ref, tmp_path / "cache").is_dir()


@pytest.mark.parametrize("uri", ["ftp://x/y", "build/store", "s3://", "file://"])
def test_an_unknown_uri_is_refused(uri: str) -> None:
    with pytest.raises(StorageError, match="expected file://folder or s3://bucket/prefix"):
        open_store(StorageConfig(uri=uri))


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(StorageError, match="is a file, expected a folder"):
        open_store(StorageConfig(uri=f"file://{tmp_path}/store"))
