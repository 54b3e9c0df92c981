"""A store in a folder, for laptops, tests and shared file systems.

Objects appear by rename or by hard link, after their bytes are on the disk.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from components.errors import StorageError
from components.policies import FolderRef
from components.storage import folders, removal
from components.storage.disk import SCRATCH, check_key, publish, scratch_beside, sync, writing
from components.storage.unfinished import Unfinished

READ_ONLY = 0o444


class LocalStore:
    """Objects as read-only files below one folder."""

    def __init__(self, uri: str, concurrency: int = 8) -> None:
        """`uri` is file://relative/folder or file:///absolute/folder."""
        self.uri = uri.rstrip("/")
        self.root = Path(self.uri.removeprefix("file://")).absolute()
        self.concurrency = concurrency
        if self.root.exists() and not self.root.is_dir():
            raise StorageError(f"storage.uri {uri!r}: {self.root} is a file, expected a folder")

    def read(self, key: str) -> bytes:
        """See Store."""
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise StorageError(f"{self.uri}/{key}: no such object") from error
        except OSError as error:
            raise StorageError(f"{self.uri}/{key}: cannot be read: {error.strerror}") from error

    def write(self, key: str, data: bytes) -> None:
        """See Store."""
        target = self._path(key)
        with writing(target), scratch_beside(target) as scratch:
            scratch.write_bytes(data)
            scratch.chmod(READ_ONLY)
            publish(scratch, target)

    def create(self, key: str, data: bytes) -> bool:
        """See Store. A hard link fails if its name is taken, so there is one winner."""
        target = self._path(key)
        with writing(target), scratch_beside(target) as scratch:
            scratch.write_bytes(data)
            scratch.chmod(READ_ONLY)
            sync(scratch)
            try:
                os.link(scratch, target)
            except FileExistsError:
                return False
            sync(target.parent)
        return True

    def exists(self, key: str) -> bool:
        """See Store."""
        return self._path(key).is_file()

    def list(self, prefix: str) -> list[str]:
        """See Store."""
        return sorted(key for key, _ in self._files(prefix))

    def sizes(self, prefix: str) -> dict[str, int]:
        """See Store."""
        found = {}
        for key, path in self._files(prefix):
            with suppress(FileNotFoundError):  # deleted meanwhile
                found[key] = path.stat().st_size
        return found

    def delete(self, key: str) -> None:
        """See Store."""
        target = self._path(key)
        with writing(target):
            target.unlink(missing_ok=True)

    def unfinished(self) -> Iterator[Unfinished]:
        """See Store: files that a killed process was writing."""
        for parent, _, names in os.walk(self.root):
            for path in (Path(parent, name) for name in names if name.startswith(SCRATCH)):
                with suppress(FileNotFoundError):  # finished meanwhile
                    status = path.stat()
                    key = path.relative_to(self.root).as_posix()
                    yield Unfinished(key, status.st_size, status.st_mtime)

    def discard(self, left: Unfinished) -> None:
        """See Store."""
        self.delete(left.key)

    def upload_file(self, path: str | Path, key: str, *, known: bool = False) -> None:
        """See Store."""
        target = self._path(key)
        if not Path(path).is_file():
            raise StorageError(f"{path}: no such file, wanted for {self.uri}/{key}")
        with writing(target), scratch_beside(target) as scratch:
            shutil.copyfile(path, scratch)
            scratch.chmod(READ_ONLY)
            publish(scratch, target)

    def download_file(self, key: str, path: str | Path) -> None:
        """See Store."""
        source, target = self._path(key), Path(path)
        if not source.is_file():
            raise StorageError(f"{self.uri}/{key}: no such object")
        with writing(target), scratch_beside(target) as scratch:
            shutil.copyfile(source, scratch)
            os.replace(scratch, target)

    def upload_folder(self, path: str | Path, prefix: str = "policies") -> FolderRef:
        """See Store."""
        return folders.upload(self, path, prefix, self.concurrency)

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """See Store. The store's own folder is verified and used in place; `cache` stays unused."""
        key = folders.key_of(self.uri, ref)
        removal.rescue(self, key, "downloaded")
        folders.check_there(self, key)
        folder = self._path(key)
        folders.verify(folder, ref, self.concurrency)
        return folder

    def _files(self, prefix: str) -> Iterator[tuple[str, Path]]:
        """Key and path of all objects whose key begins with the text."""
        for parent, _, names in os.walk(self.root / prefix.rpartition("/")[0]):
            for path in (Path(parent, name) for name in names if not name.startswith(SCRATCH)):
                key = path.relative_to(self.root).as_posix()
                if key.startswith(prefix):
                    yield key, path

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)
