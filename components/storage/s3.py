"""A store in an S3 bucket: AWS, SeaweedFS, MinIO and others that know conditional puts.

Credentials come by boto3's usual chain. The bucket must exist: creating it here would hide a
misspelt name. Checksums are sent only where the operation requires them, because older servers
refuse the newer ones; content is verified by our own digests.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError
from botocore.exceptions import ConnectionError as NoConnectionError

from components.errors import StorageError
from components.policies import FolderRef
from components.settings import StorageConfig
from components.storage import folders
from components.storage.disk import check_key, scratch_beside, writing

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PART_BYTES = 16 * 2**20
"""Larger files move in parts of this size, several at a time."""
_ABSENT = {"404", "NoSuchKey", "NotFound"}
_REFUSED = {"403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "401"}
_TAKEN = {"412", "PreconditionFailed"}
_RACING = {"409", "ConditionalRequestConflict"}


class S3Store:
    """Objects below one prefix of one bucket."""

    def __init__(self, settings: StorageConfig) -> None:
        """Ask for the bucket once, so that a wrong endpoint, secret or name fails here."""
        self.uri = settings.uri.rstrip("/")
        self.bucket, _, prefix = self.uri.removeprefix("s3://").partition("/")
        self.prefix = f"{prefix}/" if prefix else ""
        self.concurrency = settings.concurrency
        self.endpoint = (
            settings.endpoint_url
            or os.environ.get("AWS_ENDPOINT_URL_S3")
            or os.environ.get("AWS_ENDPOINT_URL")
        )
        self.client = _client(settings, self.endpoint)
        self.transfer = TransferConfig(
            multipart_threshold=PART_BYTES,
            multipart_chunksize=PART_BYTES,
            max_concurrency=settings.concurrency,
        )
        with self._asking(self.uri):
            self.client.head_bucket(Bucket=self.bucket)

    def read(self, key: str) -> bytes:
        """See Store."""
        with self._asking(f"{self.uri}/{key}"):
            return self.client.get_object(Bucket=self.bucket, Key=self._key(key))["Body"].read()

    def write(self, key: str, data: bytes) -> None:
        """See Store."""
        with self._asking(f"{self.uri}/{key}"):
            self.client.put_object(Bucket=self.bucket, Key=self._key(key), Body=data)

    def create(self, key: str, data: bytes) -> bool:
        """See Store. A winner whose answer was lost and asked again hears False."""
        for _ in range(5):
            try:
                with self._asking(f"{self.uri}/{key}", passing=_TAKEN | _RACING):
                    self.client.put_object(
                        Bucket=self.bucket, Key=self._key(key), Body=data, IfNoneMatch="*"
                    )
                    return True
            except ClientError as error:
                if _code(error) in _TAKEN:
                    return False
        raise StorageError(f"{self.uri}/{key}: the server kept answering 'conflict'; try again")

    def exists(self, key: str) -> bool:
        """See Store."""
        try:
            with self._asking(f"{self.uri}/{key}", passing=_ABSENT):
                self.client.head_object(Bucket=self.bucket, Key=self._key(key))
        except ClientError:
            return False
        return True

    def list(self, prefix: str) -> list[str]:
        """See Store."""
        with self._asking(f"{self.uri}/{prefix}"):
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self.prefix + prefix
            )
            keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
        return sorted(key.removeprefix(self.prefix) for key in keys)

    def delete(self, key: str) -> None:
        """See Store."""
        with self._asking(f"{self.uri}/{key}"):
            self.client.delete_object(Bucket=self.bucket, Key=self._key(key))

    def upload_file(self, path: str | Path, key: str) -> None:
        """See Store."""
        if not Path(path).is_file():
            raise StorageError(f"{path}: no such file, wanted for {self.uri}/{key}")
        with self._asking(f"{self.uri}/{key}"):
            self.client.upload_file(str(path), self.bucket, self._key(key), Config=self.transfer)

    def download_file(self, key: str, path: str | Path) -> None:
        """See Store."""
        target = Path(path)
        with writing(target), scratch_beside(target) as scratch:
            with self._asking(f"{self.uri}/{key}"):
                self.client.download_file(
                    self.bucket, self._key(key), str(scratch), Config=self.transfer
                )
            os.replace(scratch, target)

    def upload_folder(self, path: str | Path, prefix: str = "policies") -> FolderRef:
        """See Store."""
        return folders.upload(self, path, prefix, self.concurrency)

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        """See Store."""
        return folders.download(self, ref, cache, self.concurrency)

    def _key(self, key: str) -> str:
        return self.prefix + check_key(key)

    @contextmanager
    def _asking(self, uri: str, passing: set[str] | frozenset[str] = frozenset()) -> Iterator[None]:
        """Turn the server's and boto3's errors into one line; codes in `passing` rise unchanged."""
        try:
            yield
        except ClientError as error:
            if _code(error) in passing:
                raise
            raise StorageError(f"{uri}: {self._reason(error)}") from error
        except NoCredentialsError as error:
            raise StorageError(
                f"{uri}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                "a profile or a role"
            ) from error
        except (HTTPClientError, NoConnectionError) as error:
            raise StorageError(
                f"{uri}: {self.endpoint or 'AWS'} cannot be reached "
                f"({type(error).__name__}); check storage.endpoint_url or AWS_ENDPOINT_URL_S3"
            ) from error
        except (BotoCoreError, Boto3Error) as error:
            raise StorageError(f"{uri}: {' '.join(str(error).split())}") from error

    def _reason(self, error: ClientError) -> str:
        code, where = _code(error), self.endpoint or "AWS"
        if code == "NoSuchBucket" or (code in _ABSENT and error.operation_name == "HeadBucket"):
            return f"bucket {self.bucket!r} does not exist at {where}; create it first"
        if code in _ABSENT:
            return "no such object"
        if code in _REFUSED:
            return (
                f"{where} refused the credentials ({code}); check AWS_ACCESS_KEY_ID, "
                "AWS_SECRET_ACCESS_KEY and the rights on the bucket"
            )
        return f"{where} answered {' '.join(str(error).split())}"


def _client(settings: StorageConfig, endpoint: str | None) -> "S3Client":
    session = boto3.session.Session()  # its own: the default one remembers the first credentials
    return session.client(
        "s3",
        endpoint_url=endpoint,
        region_name=settings.region,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path" if settings.path_style else "virtual"},
            retries={"mode": "standard", "max_attempts": 4},
            connect_timeout=5,
            read_timeout=60,
            max_pool_connections=2 * settings.concurrency + 2,
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
