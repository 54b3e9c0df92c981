"""The Store protocol and how a configured uri becomes one.

Keys are relative paths with `/`. What lies in a store is immutable or replaced whole: a reader
never sees half an object. Which keys exist and what they mean is the callers' affair.
"""

from pathlib import Path
from typing import Protocol

from components.errors import StorageError
from components.policies import FolderRef
from components.settings import StorageConfig


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

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens if it is absent."""
        ...

    def upload_file(self, path: str | Path, key: str) -> None:
        """Copy a local file to the key."""
        ...

    def download_file(self, key: str, path: str | Path) -> None:
        """Copy the object to a local file, whole or not at all; StorageError if it is absent."""
        ...

    def upload_folder(self, path: str | Path, prefix: str = "policies") -> FolderRef:
        """Store a folder as `<prefix>/<sha256 of its manifest>`; nothing moves if it is there."""
        ...

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """A local, verified, read-only folder with the ref's content.

        StorageError names the file, the expected and the found digest.
        """
        ...


def open_store(settings: StorageConfig) -> Store:
    """The store at `settings.uri`.

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

    return S3Store(settings)
