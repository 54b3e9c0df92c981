"""A store in an S3 bucket: AWS, SeaweedFS, MinIO and others that know conditional puts.

The bucket must exist: creating it here would hide a misspelt name.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from botocore.exceptions import ClientError

from components.errors import StorageError
from components.policies import FolderRef
from components.settings import StorageConfig
from components.storage import cache as local_cache
from components.storage import folders
from components.storage.disk import check_key, scratch_beside, writing
from components.storage.s3_bucket import ABSENT, UNKNOWN, Bucket, code
from components.storage.s3_download import download
from components.storage.s3_upload import Lanes, upload
from components.storage.traffic import Report, Traffic
from components.storage.unfinished import Unfinished

_TAKEN = {"412", "PreconditionFailed"}
_RACING = {"409", "ConditionalRequestConflict"}


class S3Store:
    """Objects below one prefix of one bucket."""

    def __init__(self, settings: StorageConfig, report: Report | None = None) -> None:
        """Ask for the bucket once, so that a wrong endpoint, secret or name fails here.

        `report` hears how far large transfers are.
        """
        self.bucket = Bucket(settings)
        self.uri, self.client = self.bucket.uri, self.bucket.client
        self.concurrency = settings.concurrency
        self.cache_gib = settings.cache_gib
        slots = BoundedSemaphore(settings.concurrency)
        self.lanes = Lanes(settings.concurrency, slots, Traffic(report))
        self._refuses = False
        """Whether the server has been seen to refuse a conditional put."""
        with self.bucket.asking(""):
            self.client.head_bucket(Bucket=self.bucket.name)

    def read(self, key: str) -> bytes:
        """See Store."""
        with self.bucket.asking(key):
            data: bytes = self.client.get_object(**self._place(key))["Body"].read()
        return data

    def write(self, key: str, data: bytes) -> None:
        """See Store."""
        with self.bucket.asking(key):
            self.client.put_object(**self._place(key), Body=data)

    def create(self, key: str, data: bytes) -> bool:
        """See Store. A winner whose answer was lost and asked again hears False.

        The first object that is made is made a second time, with the same content: a server that
        lets this happen would let two runs commit the same iteration, and is refused.
        """
        if not self._create(key, data):
            self._refuses = True
            return False
        if not self._refuses and self._create(key, data):
            raise self._cannot_create(key)
        self._refuses = True
        return True

    def exists(self, key: str) -> bool:
        """See Store."""
        try:
            with self.bucket.asking(key, passing=ABSENT):
                self.client.head_object(**self._place(key))
        except ClientError:
            return False
        return True

    def list(self, prefix: str) -> list[str]:
        """See Store."""
        return sorted(self.sizes(prefix))

    def sizes(self, prefix: str) -> dict[str, int]:
        """See Store."""
        start = len(self.bucket.prefix)
        with self.bucket.asking(prefix):
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket.name, Prefix=self.bucket.prefix + prefix
            )
            items = [item for page in pages for item in page.get("Contents", [])]
        return {item["Key"][start:]: item["Size"] for item in items}

    def delete(self, key: str) -> None:
        """See Store. One by one: the request for many demands checksums that servers differ in."""
        with self.bucket.asking(key):
            self.client.delete_object(**self._place(key))

    def unfinished(self) -> Iterator[Unfinished]:
        """See Store: uploads in parts that were never ended. None where the server cannot tell."""
        start = len(self.bucket.prefix)
        try:
            with self.bucket.asking("", passing=UNKNOWN):
                pages = self.client.get_paginator("list_multipart_uploads").paginate(
                    Bucket=self.bucket.name, Prefix=self.bucket.prefix
                )
                found = [item for page in pages for item in page.get("Uploads", [])]
        except ClientError:
            return
        for item in found:
            key, id = item["Key"][start:], item["UploadId"]
            yield Unfinished(key, self._uploaded(key, id), item["Initiated"].timestamp(), id)

    def discard(self, left: Unfinished) -> None:
        """See Store."""
        try:
            with self.bucket.asking(left.key, passing={"404", "NoSuchUpload"}):
                self.client.abort_multipart_upload(**self._place(left.key), UploadId=left.id)
        except ClientError:
            return  # ended meanwhile

    def upload_file(self, path: str | Path, key: str, *, known: bool = False) -> None:
        """See Store."""
        if not Path(path).is_file():
            raise StorageError(f"{path}: no such file, wanted for {self.uri}/{key}")
        upload(self.bucket, Path(path), check_key(key), self.lanes, known)

    def download_file(self, key: str, path: str | Path) -> None:
        """See Store."""
        target = Path(path)
        with writing(target), scratch_beside(target) as scratch:
            download(self.bucket, key, scratch, self.lanes)
            os.replace(scratch, target)

    def upload_folder(self, path: str | Path, prefix: str = "policies") -> FolderRef:
        """See Store."""
        return folders.upload(self, path, prefix, self.concurrency)

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """See Store."""
        return local_cache.fetch(self, ref, cache, self.concurrency, self.cache_gib)

    def _create(self, key: str, data: bytes) -> bool:
        for _ in range(5):
            try:
                with self.bucket.asking(key, passing=_TAKEN | _RACING | UNKNOWN):
                    self.client.put_object(**self._place(key), Body=data, IfNoneMatch="*")
                    return True
            except ClientError as error:
                if code(error) in UNKNOWN:
                    raise self._cannot_create(key) from error
                if code(error) in _TAKEN:
                    return False
        raise StorageError(f"{self.uri}/{key}: the server kept answering 'conflict'; try again")

    def _cannot_create(self, key: str) -> StorageError:
        return StorageError(
            f"{self.uri}/{key}: {self.bucket.endpoint or 'AWS'} does not honour conditional puts "
            "(If-None-Match: *), so two runs could commit the same iteration; use a server that "
            "does, such as AWS S3 or SeaweedFS, or a newer version of this one"
        )

    def _uploaded(self, key: str, id: str) -> int:
        """Bytes of an unfinished upload's parts; 0 if it was ended meanwhile."""
        pages = self.client.get_paginator("list_parts").paginate(**self._place(key), UploadId=id)
        try:
            return sum(part["Size"] for page in pages for part in page.get("Parts", []))
        except ClientError:
            return 0

    def _place(self, key: str) -> dict[str, Any]:
        return {"Bucket": self.bucket.name, "Key": self.bucket.key(key)}
