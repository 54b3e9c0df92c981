"""The Store protocol and how a configured uri becomes one.

Keys are relative paths with `/`. What lies in a store is immutable or replaced whole: a reader
never sees half an object. Which keys exist and what they mean is the callers' affair.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from components.errors import StorageError
from components.policies import FolderRef
from components.settings import StorageConfig
from components.storage.traffic import Report
from components.storage.unfinished import Unfinished


class Store(Protocol):
    """A place for objects, shared by all steps of all runs. Safe to use from several threads."""

    uri: str
    """As configured, without a trailing `/`; refs begin with it."""

    def read(self, key: str) -> bytes:
        """The object; StorageError if it is absent."""
        ...

    def write(self, key: str, data: bytes) -> None:
        """Create or replace the object."""
        ...

    def create(self, key: str, data: bytes) -> bool:
        """Write only if the key is free: of several writers exactly one gets True."""
        ...

    def exists(self, key: str) -> bool:
        """Whether the key holds an object."""
        ...

    def list(self, prefix: str) -> list[str]:
        """All keys that begin with the text `prefix`, sorted."""
        ...

    def sizes(self, prefix: str) -> dict[str, int]:
        """Key -> bytes of all objects whose key begins with the text `prefix`."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens if it is absent."""
        ...

    def unfinished(self) -> Iterator[Unfinished]:
        """What killed processes left behind: never listed, and still taking room."""
        ...

    def discard(self, left: Unfinished) -> None:
        """Remove it; nothing happens if it is gone."""
        ...

    def upload_file(self, path: str | Path, key: str, *, known: bool = False) -> None:
        """Copy a local file to the key.

        `known`: the key never holds other content, as where it names the content's digest; then an
        upload that was cut off may be gone on with.
        """
        ...

    def download_file(self, key: str, path: str | Path) -> None:
        """Copy the object to a local file, whole or not at all; StorageError if it is absent."""
        ...

    def upload_folder(self, path: str | Path, prefix: str = "policies") -> FolderRef:
        """Store a folder as `<prefix>/<sha256 of its manifest>`; nothing moves if it is there."""
        ...

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """A local, verified, read-only folder with the ref's content, which `gc` will not mark now.

        StorageError names the file, the expected and the found digest, or says when and why the
        folder was removed.
        """
        ...


def open_store(settings: StorageConfig, report: Report | None = None) -> Store:
    """The store at `settings.uri`; `report` hears how far large transfers are.

    StorageError names the uri and the fix: an unknown scheme, a server that cannot be reached,
    refused credentials, a bucket that does not exist.
    """
    uri = settings.uri.rstrip("/")
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme not in ("file", "s3") or not rest:
        raise StorageError(
            f"storage.uri {settings.uri!r}: expected file://folder or s3://bucket/prefix"
        )
    if scheme == "file":
        from components.storage.local import LocalStore

        return LocalStore(uri, settings.concurrency)
    from components.storage.s3 import S3Store

    return S3Store(settings, report)
