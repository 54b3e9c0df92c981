"""Large files on S3: in parts, gone on with after a cut, and none of it seen before it is whole."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from components.errors import StorageError
from components.settings import StorageConfig
from components.storage import s3_download, s3_upload
from components.storage.parallel import in_parallel
from components.storage.s3 import S3Store
from components.storage.s3_download import split_from
from components.storage.s3_upload import MAX_PARTS, PART_BYTES, split

MIB = 2**20
PART = 5 * MIB
"""The least that S3 allows."""


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (s3_upload, s3_download):
        monkeypatch.setattr(module, "PART_BYTES", PART)


def parts_sent(store: S3Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the parts that are sent from now on."""
    numbers: list[int] = []

    def count(params: Any, **_: Any) -> None:
        numbers.append(int(params["PartNumber"]))

    store.client.meta.events.register("before-parameter-build.s3.UploadPart", count)
    return numbers


@pytest.mark.parametrize("size", [1, PART_BYTES, PART_BYTES + 1, 200 * 10**6, 2 * 10**12])
def test_parts_cover_a_file_once(size: int) -> None:
    for parts in (split(size), split_from(min(size, PART_BYTES), size)):
        assert parts[0].start == 0 and parts[-1].end == size
        assert all(a.end == b.start for a, b in zip(parts, parts[1:], strict=False))
        assert [part.number for part in parts] == list(range(1, len(parts) + 1))
        assert len(parts) <= MAX_PARTS + 1
    assert len(split(size)) <= MAX_PARTS


@pytest.mark.parametrize(
    ("size", "checksums"),
    [
        (0, "auto"), (1, "auto"), (PART, "auto"), (PART + 1, "auto"), (2 * PART + 7, "auto"),
        (1, "when_supported"), (PART + 1, "when_supported"),
    ],
)  # fmt: skip
def test_every_size_there_and_back(
    s3_settings: StorageConfig, tmp_path: Path, size: int, checksums: str, small_parts: None
) -> None:
    store = S3Store(s3_settings.model_copy(update={"checksums": checksums}))
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(size))
    store.upload_file(source, "a")
    store.download_file("a", target)
    assert target.read_bytes() == source.read_bytes()
    assert store.sizes("") == {"a": size}
    assert list(store.unfinished()) == []


def test_an_upload_that_was_cut_off_is_gone_on_with(
    s3_settings: StorageConfig, tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = S3Store(s3_settings.model_copy(update={"concurrency": 1}))
    source = tmp_path / "source"
    source.write_bytes(os.urandom(4 * PART))

    def cut(params: Any, **_: Any) -> None:
        if params["PartNumber"] == 3:
            raise KeyboardInterrupt

    name = "before-parameter-build.s3.UploadPart"
    store.client.meta.events.register(name, cut)
    with pytest.raises(KeyboardInterrupt):
        store.upload_file(source, "a", known=True)
    store.client.meta.events.unregister(name, cut)
    assert store.list("") == [] and not store.exists("a")
    (left,) = store.unfinished()
    assert left.key == "a" and left.bytes in (2 * PART, 3 * PART)
    sent = parts_sent(store, monkeypatch)
    store.upload_file(source, "a", known=True)
    assert sorted(sent) in ([3], [3, 4])  # the last may have been under way
    store.download_file("a", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == source.read_bytes()
    assert list(store.unfinished()) == []


def test_parts_of_other_content_are_sent_again(
    s3_settings: StorageConfig, tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = S3Store(s3_settings)
    source, data = tmp_path / "source", os.urandom(3 * PART)
    source.write_bytes(data)
    place: Any = {"Bucket": store.bucket.name, "Key": store.bucket.key("a")}
    id = store.client.create_multipart_upload(**place)["UploadId"]
    for number, body in ((1, data[:PART]), (2, os.urandom(PART))):
        store.client.upload_part(**place, UploadId=id, PartNumber=number, Body=body)
    sent = parts_sent(store, monkeypatch)
    store.upload_file(source, "a", known=True)
    assert sorted(sent) == [2, 3]
    assert store.read("a") == data


def test_what_is_not_known_by_digest_starts_anew(
    s3_settings: StorageConfig, tmp_path: Path, small_parts: None
) -> None:
    store = S3Store(s3_settings)
    source = tmp_path / "source"
    source.write_bytes(os.urandom(2 * PART))
    place: Any = {"Bucket": store.bucket.name, "Key": store.bucket.key("a")}
    store.client.create_multipart_upload(**place)
    store.upload_file(source, "a")
    (left,) = store.unfinished()
    store.discard(left)
    store.discard(left)
    assert list(store.unfinished()) == [] and store.read("a") == source.read_bytes()


def test_an_upload_that_fails_is_aborted(
    s3_settings: StorageConfig, tmp_path: Path, small_parts: None
) -> None:
    store = S3Store(s3_settings.model_copy(update={"concurrency": 1}))
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3 * PART))

    def shorten(params: Any, **_: Any) -> None:
        os.truncate(source, PART)

    store.client.meta.events.register("before-parameter-build.s3.UploadPart", shorten)
    with pytest.raises(StorageError, match="became shorter while it was uploaded"):
        store.upload_file(source, "a", known=True)
    assert list(store.unfinished()) == [] and store.list("") == []


def test_an_upload_that_others_ended_is_begun_again(
    s3_settings: StorageConfig, tmp_path: Path, small_parts: None
) -> None:
    store = S3Store(s3_settings.model_copy(update={"concurrency": 1}))
    source, others = tmp_path / "source", [1]
    source.write_bytes(os.urandom(3 * PART))

    def abort(params: Any, **_: Any) -> None:
        if params["PartNumber"] == 2 and others:
            others.pop()
            place = {name: params[name] for name in ("Bucket", "Key", "UploadId")}
            store.client.abort_multipart_upload(**place)

    store.client.meta.events.register("before-parameter-build.s3.UploadPart", abort)
    store.upload_file(source, "a")
    assert store.read("a") == source.read_bytes() and list(store.unfinished()) == []


@contextmanager
def breaking_line(endpoint: str, num_cuts: int, after: int) -> Iterator[str]:
    """The endpoint behind a line that breaks so many times, each after so many bytes one way."""
    place, listener = urlsplit(endpoint), socket.create_server(("127.0.0.1", 0))
    left, lock = [num_cuts], threading.Lock()

    def pump(source: socket.socket, target: socket.socket, pair: list[socket.socket]) -> None:
        moved = 0
        with suppress(OSError):
            while data := source.recv(65536):
                moved += len(data)
                with lock:
                    cut = moved > after and left[0] > 0
                    left[0] -= cut
                if cut:
                    break
                target.sendall(data)
        for end in pair:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((str(place.hostname), int(place.port or 80)))
                for one, other in ((near, far), (far, near)):
                    args = (one, other, [near, far])
                    threading.Thread(target=pump, args=args, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def test_broken_lines_cost_no_more_than_their_part(
    s3_server: Any, s3_settings: StorageConfig, tmp_path: Path, small_parts: None
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(3 * PART))
    for way in ("upload", "download"):
        with breaking_line(s3_server.endpoint, 3, 3 * MIB) as endpoint:
            store = S3Store(s3_settings.model_copy(update={"endpoint_url": endpoint}))
            if way == "upload":
                store.upload_file(source, "a")
            else:
                store.download_file("a", target)
    assert target.read_bytes() == source.read_bytes()


def test_an_object_that_is_replaced_meanwhile_is_no_mixture(
    s3_settings: StorageConfig, tmp_path: Path, small_parts: None
) -> None:
    store = S3Store(s3_settings)
    store.write("a", b"1" * (3 * PART))
    begun: list[int] = []

    def replace(params: Any, **_: Any) -> None:
        if not begun and "IfMatch" in params:
            begun.append(1)
            store.write("a", b"2" * (3 * PART))

    store.client.meta.events.register("before-parameter-build.s3.GetObject", replace)
    with pytest.raises(StorageError, match="/a: was replaced while it was read; try again"):
        store.download_file("a", tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_progress_counts_all_that_is_under_way() -> None:
    from components.storage.traffic import MB, Traffic

    told: list[tuple[str, int, int]] = []
    traffic = Traffic(lambda *args: told.append(args))
    traffic.begin("upload", 60 * MB)
    traffic.begin("upload", 40 * MB)
    traffic.moved("upload", 50 * MB)
    traffic.moved("upload", 50 * MB)
    assert told == [("upload", 50 * MB, 100 * MB), ("upload", 100 * MB, 100 * MB)]
    traffic.begin("upload", 10 * MB)
    traffic.moved("upload", 10 * MB)
    assert len(told) == 2


def test_the_first_failure_ends_parallel_work() -> None:
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if number == 1:
            raise ValueError("no")
        return number

    with pytest.raises(ValueError, match="no"):
        in_parallel(work, range(1, 1000), 1)
    assert begun[0] == 1 and len(begun) < 1000
    assert in_parallel(work, [3, 2], 2) == [3, 2]


UPLOAD = """
import sys
from components.settings import StorageConfig
from components.storage import open_store
from components.storage.traffic import print_progress
store = open_store(StorageConfig(uri=sys.argv[1], concurrency=2), print_progress)
print(store.upload_folder(sys.argv[2]).uri, flush=True)
"""


@pytest.mark.full
def test_killed_uploads_of_200_mb_leave_nothing_visible_and_go_on(
    s3_settings: StorageConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "model.safetensors").write_bytes(os.urandom(200 * 10**6))
    command = [sys.executable, "-c", UPLOAD, s3_settings.uri, str(model)]
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    store = S3Store(s3_settings)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for line in process.stdout:
            done = re.search(r"step=upload done=(\d+) total=200 unit=MB", line)
            if done and int(done[1]) >= 60:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    assert store.list("") == []
    (left,) = store.unfinished()
    assert 50 * 10**6 < left.bytes < 200 * 10**6
    sent = parts_sent(store, monkeypatch)
    ref = store.upload_folder(model)
    assert 0 < len(sent) <= 9  # of 12
    found = store.download_folder(ref, tmp_path / "cache") / "model.safetensors"
    assert found.read_bytes() == (model / "model.safetensors").read_bytes()
    assert list(store.unfinished()) == []
