"""From an S3 object to a file: in parts, several at a time, each gone on with where it broke off.

All parts are of one version of the object. The file is given its size first, so that a full disk
is found before anything moves.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from urllib3.exceptions import HTTPError

from components.errors import StorageError
from components.storage.parallel import in_parallel
from components.storage.s3_bucket import UNKNOWN, Bucket, code
from components.storage.s3_upload import PART_BYTES, Lanes, Part, split

CHUNK_BYTES = 2**20
_ATTEMPTS = 5
"""Of one part."""
_EMPTY = {"416", "InvalidRange"} | UNKNOWN
_CHANGED = {"412", "PreconditionFailed"}
_BROKEN = (HTTPClientError, HTTPError, BotoCoreError, ConnectionError)
"""What a stream may raise half way."""


def download(bucket: Bucket, key: str, path: Path, lanes: Lanes) -> None:
    """Copy an object to a file. StorageError if there is none."""
    with bucket.asking(key):
        first = _first(bucket, key)
        size = _size(first)
        lanes.traffic.begin("download", size)
        try:
            with closing(first["Body"]), _file(path, size) as file:
                _Download(bucket, key, first["ETag"], file, lanes).fetch(first, size)
        except BaseException as error:  # counted, told apart, and raised again
            lanes.traffic.gave_up("download")
            if isinstance(error, ClientError) and code(error) in _CHANGED:
                text = f"{bucket.uri}/{key}: was replaced while it was read; try again"
                raise StorageError(text) from error
            raise


@dataclass(frozen=True)
class _Download:
    bucket: Bucket
    key: str
    etag: str
    file: int
    lanes: Lanes

    def fetch(self, first: Any, size: int) -> None:
        """All parts; the first one's answer has begun to come already."""
        whole = (
            "ContentRange" not in first
        )  # a server that does not know ranges, or an empty object
        parts = [Part(1, 0, size)] if whole else split_from(first["ContentLength"], size)
        in_parallel(
            lambda part: self._fetch(part, first if part.number == 1 else None),
            parts, self.lanes.count,
        )  # fmt: skip

    def _fetch(self, part: Part, answer: Any) -> None:
        position = part.start
        with self.lanes.free:
            for attempt in range(_ATTEMPTS):
                try:
                    answer = answer or self._ask(position, part.end)
                    for data in _chunks(answer["Body"]):
                        os.pwrite(self.file, data, position)
                        position += len(data)
                        self.lanes.traffic.moved("download", len(data))
                    if position == part.end:
                        return
                except _BROKEN:
                    if attempt == _ATTEMPTS - 1:
                        raise
                answer = None
        raise StorageError(
            f"{self.bucket.uri}/{self.key}: the server sent bytes {part.start} to {position}, "
            f"expected them to {part.end}"
        )

    def _ask(self, start: int, end: int) -> Any:
        return self.bucket.client.get_object(
            Bucket=self.bucket.name, Key=self.bucket.key(self.key),
            Range=f"bytes={start}-{end - 1}", IfMatch=self.etag,
        )  # fmt: skip


def split_from(first: int, size: int) -> list[Part]:
    """The first part as it was asked for, then the parts of the rest."""
    rest = [Part(p.number + 1, p.start + first, p.end + first) for p in split(size - first)]
    return [Part(1, 0, first), *rest]


def _first(bucket: Bucket, key: str) -> Any:
    """The answer to a request for the first part; what comes with it tells the size."""
    place: Any = {"Bucket": bucket.name, "Key": bucket.key(key)}
    try:
        return bucket.client.get_object(**place, Range=f"bytes=0-{PART_BYTES - 1}")
    except ClientError as error:
        if code(error) not in _EMPTY:
            raise
        return bucket.client.get_object(**place)


def _size(answer: Any) -> int:
    """Of the whole object: `bytes 0-9/200` says 200."""
    total = answer.get("ContentRange", "").rpartition("/")[2]
    return int(total) if total else int(answer["ContentLength"])


def _chunks(body: Any) -> Iterator[bytes]:
    with closing(body):
        while data := body.read(CHUNK_BYTES):
            yield data


@contextmanager
def _file(path: Path, size: int) -> Iterator[int]:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        if size:
            _reserve(file, size)
        yield file
    finally:
        os.close(file)


def _reserve(file: int, size: int) -> None:
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
