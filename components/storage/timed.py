"""A store that books the time of its calls in a step's meter, as `storage`."""

from collections.abc import Iterator
from pathlib import Path

from components.meter import Meter
from components.policies import FolderRef
from components.storage.store import Store
from components.storage.unfinished import Unfinished


class TimedStore:
    """Implements Store by another one."""

    def __init__(self, store: Store, meter: Meter) -> None:
        self.uri = store.uri
        self._store, self._meter = store, meter

    def read(self, key: str) -> bytes:
        """See Store."""
        with self._meter.measure("storage"):
            return self._store.read(key)

    def write(self, key: str, data: bytes) -> None:
        """See Store."""
        with self._meter.measure("storage"):
            self._store.write(key, data)

    def create(self, key: str, data: bytes) -> bool:
        """See Store."""
        with self._meter.measure("storage"):
            return self._store.create(key, data)

    def exists(self, key: str) -> bool:
        """See Store."""
        with self._meter.measure("storage"):
            return self._store.exists(key)

    def list(self, prefix: str) -> list[str]:
        """See Store."""
        with self._meter.measure("storage"):
            return self._store.list(prefix)

    def sizes(self, prefix: str) -> dict[str, int]:
        """See Store."""
        with self._meter.measure("storage"):
            return self._store.sizes(prefix)

    def delete(self, key: str) -> None:
        """See Store."""
        with self._meter.measure("storage"):
            self._store.delete(key)

    def unfinished(self) -> Iterator[Unfinished]:
        """See Store."""
        with self._meter.measure("storage"):
            yield from self._store.unfinished()

    def discard(self, left: Unfinished) -> None:
        """See Store."""
        with self._meter.measure("storage"):
            self._store.discard(left)

    def upload_file(self, path: str | Path, key: str, *, known: bool = False) -> None:
        """See Store."""
        with self._meter.measure("storage"):
            self._store.upload_file(path, key, known=known)

    def download_file(self, key: str, path: str | Path) -> None:
        """See Store."""
        with self._meter.measure("storage"):
            self._store.download_file(key, path)

    def upload_folder(self, path: str | Path, prefix: str = "policies") -> FolderRef:
        """See Store."""
        with self._meter.measure("storage"):
            return self._store.upload_folder(path, prefix)

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """See Store."""
        with self._meter.measure("storage"):
            return self._store.download_folder(ref, cache)
