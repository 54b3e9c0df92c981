"""Servers that lack something: what works all the same, and the sentence where it does not."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from components.errors import StorageError
from components.settings import StorageConfig
from components.storage import s3_download, s3_upload
from components.storage.s3 import S3Store
from components.storage.s3_bucket import checksums
from tests.doubles import s3 as older
from tests.doubles.s3 import BUCKET, s3_server

PART = 5 * 2**20


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    for module in (s3_upload, s3_download):
        monkeypatch.setattr(module, "PART_BYTES", PART)


def settings(endpoint: str, **values: Any) -> StorageConfig:
    fields = {"uri": f"s3://{BUCKET}/{uuid4().hex}", "endpoint_url": endpoint, **values}
    return StorageConfig(**fields)


def exercise(store: S3Store, folder: Path) -> None:
    """All that runs and gc ask of a store."""
    (folder / "model").mkdir()
    data = bytes(range(256)) * (2 * PART // 256 + 3)
    (folder / "model" / "weights").write_bytes(data)
    (folder / "model" / "empty").write_bytes(b"")
    ref = store.upload_folder(folder / "model")
    found = store.download_folder(ref, folder / "cache")
    assert (found / "weights").read_bytes() == data
    store.write("b", b"1")
    assert store.read("b") == b"1" and store.exists("b") and not store.exists("c")
    assert store.create("c", b"1") and not store.create("c", b"2") and store.read("c") == b"1"
    assert sum(store.sizes("policies/").values()) > len(data)
    store.delete("b")
    assert store.list("b") == [] and list(store.unfinished()) == []


def test_a_server_before_the_new_checksums(tmp_path: Path) -> None:
    with s3_server(older.refuses_new_checksums) as endpoint:
        exercise(S3Store(settings(endpoint)), tmp_path)
        store = S3Store(settings(endpoint, checksums="when_supported"))
        with pytest.raises(StorageError, match="may need storage.checksums=when_required"):
            store.write("a", b"1")


@pytest.mark.parametrize("quirk", [older.ignores_ranges, older.cannot_list_uploads])
def test_servers_without_ranges_or_listings(quirk: older.Quirk, tmp_path: Path) -> None:
    with s3_server(quirk) as endpoint:
        exercise(S3Store(settings(endpoint)), tmp_path)


@pytest.mark.parametrize("quirk", [older.ignores_conditions, older.refuses_conditions])
def test_a_server_without_conditional_puts_is_refused(quirk: older.Quirk) -> None:
    """By its first conditional put, so before any iteration."""
    with s3_server(quirk) as endpoint:
        store = S3Store(settings(endpoint))
        words = (
            rf"/runs/r/config.json: {endpoint} does not honour conditional puts .* two runs could "
            "commit the same iteration; use a server that does"
        )
        with pytest.raises(StorageError, match=words):
            store.create("runs/r/config.json", b"{}")


@pytest.mark.parametrize(("chosen", "expected"), [("when_supported", "CRC32"), ("auto", None)])
def test_parts_have_the_checksum_that_their_upload_announced(
    chosen: str, expected: str | None, tmp_path: Path
) -> None:
    """AWS refuses parts whose checksum was not announced, and an end that leaves theirs out."""
    asked: dict[str, Any] = {}
    with s3_server() as endpoint:
        store = S3Store(settings(endpoint, checksums=chosen))
        for name in ("CreateMultipartUpload", "CompleteMultipartUpload"):
            store.client.meta.events.register(
                f"before-parameter-build.s3.{name}",
                lambda params, name=name, **_: asked.update({name: dict(params)}),
            )
        (tmp_path / "source").write_bytes(bytes(2 * PART))
        store.upload_file(tmp_path / "source", "a")
    assert asked["CreateMultipartUpload"].get("ChecksumAlgorithm") == expected
    parts = asked["CompleteMultipartUpload"]["MultipartUpload"]["Parts"]
    assert [bool(part.get("ChecksumCRC32")) for part in parts] == [bool(expected)] * 2


def test_auto_sends_checksums_to_aws_alone() -> None:
    asked: dict[str, Callable[[], str]] = {
        "when_supported": lambda: checksums(StorageConfig(), None),
        "when_required": lambda: checksums(StorageConfig(), "http://127.0.0.1:1"),
    }
    assert {name: ask() for name, ask in asked.items()} == {name: name for name in asked}
    chosen = StorageConfig(checksums="when_supported")
    assert checksums(chosen, "http://127.0.0.1:1") == "when_supported"


def test_the_bucket_in_the_hosts_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: set[str] = set()
    resolve = socket.getaddrinfo

    def resolved(host: Any, *args: Any, **options: Any) -> Any:
        if str(host).endswith("amazonaws.com"):
            asked.add(str(host))
            host = "127.0.0.1"
        return resolve(host, *args, **options)

    with s3_server() as endpoint:
        monkeypatch.setattr(socket, "getaddrinfo", resolved)
        virtual = f"http://s3.us-east-1.amazonaws.com:{urlsplit(endpoint).port}"
        exercise(S3Store(settings(virtual, path_style=False)), tmp_path)
    assert asked == {f"{BUCKET}.s3.us-east-1.amazonaws.com"}
