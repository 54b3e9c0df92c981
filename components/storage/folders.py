"""Folders named by their content: a manifest of every file, and its digest as the folder's name.

The manifest is the last object of an upload, so a folder whose manifest exists is complete.
Empty folders, permissions and times are not kept.
"""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from components.errors import StorageError
from components.policies import FolderRef
from components.storage import removal
from components.storage.disk import check_key, writing
from components.storage.parallel import in_parallel

MANIFEST = "rolewise-manifest.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One file of a folder."""

    path: str
    """Relative, with `/`."""
    bytes: int
    sha256: str


class Objects(removal.Objects, Protocol):
    """What folders need of a store."""

    uri: str

    def write(self, key: str, data: bytes) -> None:
        """Create or replace the object."""
        ...

    def exists(self, key: str) -> bool:
        """Whether the key holds an object."""
        ...

    def upload_file(self, path: str | Path, key: str, *, known: bool = False) -> None:
        """Copy a local file to the key, which holds this content or none if it is `known`."""
        ...

    def download_file(self, key: str, path: str | Path) -> None:
        """Copy the object to a local file."""
        ...


def file_digest(path: str | Path) -> str:
    """sha256 of a file, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(folder: str | Path, concurrency: int = 8) -> list[Entry]:
    """Every file of the folder, sorted by path; its own manifest is left out.

    StorageError if the folder is absent or empty, or holds a link or a special file.
    """
    root = Path(folder)
    paths = sorted(_files(root), key=lambda path: path.relative_to(root).as_posix())
    if not paths:
        raise StorageError(f"{root}: expected a folder with at least one file")
    return in_parallel(
        lambda path: Entry(
            path.relative_to(root).as_posix(), path.stat().st_size, file_digest(path)
        ),
        paths,
        concurrency,
    )


def encode(entries: Iterable[Entry]) -> bytes:
    """Canonical JSON of a manifest; its sha256 is the folder's digest."""
    content = {"files": [asdict(entry) for entry in entries], "schema_version": SCHEMA_VERSION}
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def decode(data: bytes, ref: FolderRef) -> list[Entry]:
    """The manifest that a ref names. StorageError if it is another one."""
    found = hashlib.sha256(data).hexdigest()
    if found != ref.sha256:
        raise StorageError(f"{ref.uri}/{MANIFEST}: sha256 expected {ref.sha256}, got {found}")
    content = json.loads(data)
    if content["schema_version"] != SCHEMA_VERSION:
        raise StorageError(
            f"{ref.uri}/{MANIFEST}: schema_version {content['schema_version']}, "
            f"expected {SCHEMA_VERSION}"
        )
    entries = [Entry(**entry) for entry in content["files"]]
    for entry in entries:
        check_key(entry.path)
    return entries


def upload(store: Objects, folder: str | Path, prefix: str, concurrency: int) -> FolderRef:
    """Store a folder under its digest: files in parallel, the manifest last."""
    entries = manifest(folder, concurrency)
    data = encode(entries)
    digest = hashlib.sha256(data).hexdigest()
    base = f"{check_key(prefix)}/{digest}"
    removal.claim(store, base, "uploaded again")
    if not store.exists(f"{base}/{MANIFEST}"):
        root = Path(folder)
        in_parallel(
            lambda entry: store.upload_file(root / entry.path, f"{base}/{entry.path}", known=True),
            entries,
            concurrency,
        )
        store.write(f"{base}/{MANIFEST}", data)
    return FolderRef(f"{store.uri}/{base}", digest, sum(entry.bytes for entry in entries))


def download(store: Objects, ref: FolderRef, cache: Path, concurrency: int) -> Path:
    """The folder as `<cache>/<sha256>`: verified, and fetched only if it is not there."""
    target, base = cache / ref.sha256, key_of(store.uri, ref)
    removal.rescue(store, base, "downloaded")
    if target.exists():
        try:
            verify(target, ref, concurrency)
            return target
        except StorageError:
            discard(target)
    check_there(store, base)
    scratch = cache / f"{ref.sha256}.partial-{uuid.uuid4().hex[:12]}"
    try:
        data = store.read(f"{base}/{MANIFEST}")
        in_parallel(
            lambda entry: store.download_file(f"{base}/{entry.path}", scratch / entry.path),
            decode(data, ref),
            concurrency,
        )
        with writing(scratch):
            (scratch / MANIFEST).write_bytes(data)
        verify(scratch, ref, concurrency)
        _adopt(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def verify(folder: Path, ref: FolderRef, concurrency: int) -> None:
    """StorageError naming the first file that is not as the ref's manifest says."""
    try:
        data = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise StorageError(f"{folder / MANIFEST}: {error.strerror}; {ref.uri} is gone") from error
    entries = decode(data, ref)
    in_parallel(lambda entry: _check(folder, entry), entries, concurrency)
    extra = {path.relative_to(folder).as_posix() for path in _files(folder)}
    extra -= {entry.path for entry in entries}
    if extra:
        raise StorageError(f"{folder}: files {sorted(extra)} are not in the manifest of {ref.uri}")


def key_of(uri: str, ref: FolderRef) -> str:
    """The ref's key in the store at `uri`. StorageError if it lies in another store."""
    if not ref.uri.startswith(uri + "/"):
        raise StorageError(
            f"{ref.uri}: not in this run's store; storage.uri is {uri!r}; a run goes on in the "
            "store in which it began"
        )
    return check_key(ref.uri.removeprefix(uri + "/"))


def check_there(store: Objects, folder: str) -> None:
    """StorageError that says when and why if the folder was removed."""
    if not store.exists(f"{folder}/{MANIFEST}"):
        reason = removal.explain(store, folder)
        text = f"{reason}; docs/storage.md says what is kept" if reason else "no such folder"
        raise StorageError(f"{store.uri}/{folder}: {text}")


def _check(folder: Path, entry: Entry) -> None:
    path = folder / entry.path
    if path.is_symlink() or not path.is_file():
        raise StorageError(f"{path}: missing, expected {entry.bytes} bytes")
    size = path.stat().st_size
    if size != entry.bytes:
        raise StorageError(f"{path}: expected {entry.bytes} bytes, got {size}")
    found = file_digest(path)
    if found != entry.sha256:
        raise StorageError(f"{path}: sha256 expected {entry.sha256}, got {found}")


def _files(root: Path) -> list[Path]:
    """All files below the folder but its manifest; StorageError for links and special files."""
    found = []
    for parent, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(parent, name)
            if path.is_symlink():
                raise StorageError(f"{path}: is a link; put the file it points to in its place")
            if name in names and not path.is_file():
                raise StorageError(f"{path}: expected a regular file")
        found += [Path(parent, name) for name in names]
    return [path for path in found if path != root / MANIFEST]


def _adopt(scratch: Path, target: Path) -> None:
    """Give a verified folder its name; another process may have done so before."""
    try:
        with writing(target):
            os.rename(scratch, target)
    except StorageError:
        if not (target / MANIFEST).is_file():
            raise


def discard(folder: Path) -> None:
    """Take a folder out of the way at once, then remove it."""
    aside = folder.with_name(f"{folder.name}.damaged-{uuid.uuid4().hex[:12]}")
    with writing(folder):
        os.rename(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
