"""From a file to an S3 object: in parts, several at a time, each sent again if it fails.

An object appears when all its parts are over, never before. An upload that fails is aborted. One
that was cut off (a kill, a lost machine) is gone on with, where the content is known by digest:
the parts that are there already, compared by MD5, are not sent again. The rest is `gc`'s.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from botocore.exceptions import ClientError

from components.errors import StorageError
from components.storage.parallel import in_parallel
from components.storage.s3_bucket import Bucket
from components.storage.traffic import Traffic

PART_BYTES = 16 * 2**20
"""Larger files move in parts of this size, or as much larger as they need to have MAX_PARTS."""
MAX_PARTS = 10_000
"""S3's limit."""
_GONE = {"NoSuchUpload", "404"}
_ATTEMPTS = 3
"""Of whole uploads, if another process ends them meanwhile."""
_CHECKSUMS = [f"Checksum{name}" for name in ("CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256")]
Done = dict[str, Any]
"""A part that is over, as S3 calls it."""


@dataclass(frozen=True)
class Lanes:
    """What all transfers of a store share: so many move data at a time, and all are counted."""

    count: int
    free: BoundedSemaphore
    """Taken by each part while it moves: bounds connections and memory, whatever runs at once."""
    traffic: Traffic


@dataclass(frozen=True)
class Part:
    """A piece of a file."""

    number: int
    """From 1."""
    start: int
    end: int


def split(size: int) -> list[Part]:
    """The parts of so many bytes; the split of a size never changes."""
    step = max(PART_BYTES, -(-size // (MAX_PARTS * 2**20)) * 2**20)
    starts = range(0, size, step)
    return [Part(i + 1, start, min(start + step, size)) for i, start in enumerate(starts)]


def upload(bucket: Bucket, path: Path, key: str, lanes: Lanes, known: bool) -> None:
    """Copy a file to a key.

    Args:
        known: the key holds this very content or nothing, whoever writes it.
    """
    size = path.stat().st_size
    if size <= PART_BYTES:
        with lanes.free, bucket.asking(key):
            body = path.read_bytes()
            bucket.client.put_object(Bucket=bucket.name, Key=bucket.key(key), Body=body)
        return
    for _ in range(_ATTEMPTS):
        with suppress(_Ended):
            _Upload(bucket, path, key, lanes).send(size, resume=known)
            return
        if known and _size(bucket, key) == size:  # another process was quicker
            return
    raise StorageError(f"{bucket.uri}/{key}: the upload was ended by somebody else; try again")


class _Ended(Exception):
    """The server does not know the upload any more."""


@dataclass(frozen=True)
class _Upload:
    bucket: Bucket
    path: Path
    key: str
    lanes: Lanes

    def send(self, size: int, resume: bool) -> None:
        """All parts, then the object. _Ended if the upload vanishes meanwhile."""
        self.lanes.traffic.begin("upload", size)
        try:
            with self.bucket.asking(self.key, passing=_GONE):
                id, there = (self._cut_off() if resume else None) or (self._begin(), {})
                self._send(id, there, split(size))
        except ClientError as error:
            self.lanes.traffic.gave_up("upload")
            raise _Ended from error
        except BaseException:  # counted, and raised again
            self.lanes.traffic.gave_up("upload")
            raise

    def _send(self, id: str, there: Mapping[int, Done], parts: list[Part]) -> None:
        try:
            sent: Any = in_parallel(
                lambda part: self._send_part(id, part, there.get(part.number)),
                parts, self.lanes.count,
            )  # fmt: skip
            self.bucket.client.complete_multipart_upload(
                **self._place(), UploadId=id, MultipartUpload={"Parts": sent}
            )
        except Exception:  # not Ctrl-C: as after a kill, the next attempt goes on from here
            with suppress(Exception):  # the first error tells more; `gc` aborts what is left
                self.bucket.client.abort_multipart_upload(**self._place(), UploadId=id)
            raise

    def _send_part(self, id: str, part: Part, there: Done | None) -> Done:
        with self.lanes.free:
            data = _read(self.path, part)
            done = there
            if done is None or done["ETag"].strip('"') != _md5(data):
                answer = self.bucket.client.upload_part(
                    **self._place(), UploadId=id, PartNumber=part.number, Body=data
                )
                done = _done(part.number, answer)
        self.lanes.traffic.moved("upload", len(data))
        return done

    def _begin(self) -> str:
        """Says which checksum the parts will have, as AWS demands where they have one."""
        wanted: Any = {"ChecksumAlgorithm": self._algorithm} if self._algorithm else {}
        answer = self.bucket.client.create_multipart_upload(**self._place(), **wanted)
        return str(answer["UploadId"])

    @property
    def _algorithm(self) -> str | None:
        """What botocore gives the parts of itself."""
        return "CRC32" if self.bucket.checksums == "when_supported" else None

    def _cut_off(self) -> tuple[str, dict[int, Done]] | None:
        """The last upload of this key that was never ended, and its parts.

        None too where that cannot be asked: then everything is sent.
        """
        client, place = self.bucket.client, self._place()
        try:
            uploads: Any = client.list_multipart_uploads(
                Bucket=place["Bucket"], Prefix=place["Key"]
            )
            wanted = (place["Key"], self._algorithm)
            same = [
                item
                for item in uploads.get("Uploads", [])
                if (item["Key"], item.get("ChecksumAlgorithm")) == wanted
            ]
            if not same:
                return None
            id = max(same, key=lambda item: item["Initiated"])["UploadId"]
            pages: Any = client.get_paginator("list_parts").paginate(**place, UploadId=id)
            parts = [part for page in pages for part in page.get("Parts", [])]
        except ClientError:
            return None
        return id, {part["PartNumber"]: _done(part["PartNumber"], part) for part in parts}

    def _place(self) -> dict[str, Any]:
        return {"Bucket": self.bucket.name, "Key": self.bucket.key(self.key)}


def _done(number: int, answer: Mapping[str, Any]) -> Done:
    """What completing an upload wants to hear of a part: its ETag, and checksums if it has any."""
    checksums = {name: answer[name] for name in _CHECKSUMS if name in answer}
    return {"PartNumber": number, "ETag": answer["ETag"], **checksums}


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _read(path: Path, part: Part) -> bytes:
    with path.open("rb") as file:
        file.seek(part.start)
        data = file.read(part.end - part.start)
    if len(data) != part.end - part.start:
        raise StorageError(f"{path}: became shorter while it was uploaded")
    return data


def _size(bucket: Bucket, key: str) -> int | None:
    """Bytes of the object; None if there is none."""
    try:
        answer = bucket.client.head_object(Bucket=bucket.name, Key=bucket.key(key))
        return int(answer["ContentLength"])
    except ClientError:
        return None
