"""Policies without their weights: what a step needs that only talks to servers."""

from pathlib import Path
from typing import Protocol

from components.errors import StorageError
from components.policies import FolderRef
from components.storage.folders import MANIFEST, decode, file_digest, key_of

WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")


class Objects(Protocol):
    """What is needed of a store."""

    uri: str

    def read(self, key: str) -> bytes:
        """The object."""
        ...

    def download_file(self, key: str, path: str | Path) -> None:
        """Copy the object to a local file, whole or not at all."""
        ...


class LightFolders:
    """Implements Folders: tokenizers and configurations alone, each file verified."""

    def __init__(self, store: Objects) -> None:
        self._store = store

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """The folder's small files, below `<cache>/light/<sha256>`."""
        target, base = cache / "light" / ref.sha256, key_of(self._store.uri, ref)
        for entry in decode(self._store.read(f"{base}/{MANIFEST}"), ref):
            path = target / entry.path
            if entry.path.endswith(WEIGHTS) or _holds(path, entry.sha256):
                continue
            self._store.download_file(f"{base}/{entry.path}", path)
            if not _holds(path, entry.sha256):
                raise StorageError(f"{ref.uri}/{entry.path}: sha256 is not {entry.sha256}")
        return target


def _holds(path: Path, sha256: str) -> bool:
    return path.is_file() and file_digest(path) == sha256
