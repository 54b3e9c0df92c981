"""One bucket behind a boto3 client: how it is addressed, and its refusals as one line.

Credentials come by boto3's usual chain. Which checksums are sent is a setting, because servers
differ: older ones refuse what AWS recommends. Content is verified by our own digests in any case.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError
from botocore.exceptions import ConnectionError as NoConnectionError

from components.errors import StorageError
from components.settings import StorageConfig
from components.storage.disk import check_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ABSENT = {"404", "NoSuchKey", "NotFound"}
REFUSED = {"403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "401"}
UNKNOWN = {"501", "NotImplemented"}
"""The server does not know what was asked of it."""
Checksums = Literal["when_required", "when_supported"]


class Bucket:
    """A bucket, the prefix of its keys that is ours, and the client to ask with."""

    def __init__(self, settings: StorageConfig) -> None:
        """Makes the client; asks nobody."""
        self.uri = settings.uri.rstrip("/")
        self.name, _, prefix = self.uri.removeprefix("s3://").partition("/")
        self.prefix = f"{prefix}/" if prefix else ""
        self.endpoint = (
            settings.endpoint_url
            or os.environ.get("AWS_ENDPOINT_URL_S3")
            or os.environ.get("AWS_ENDPOINT_URL")
        )
        self.checksums = checksums(settings, self.endpoint)
        self.client = _client(settings, self.endpoint, self.checksums)

    def key(self, key: str) -> str:
        """The key in the bucket. StorageError if it could lead out of the prefix."""
        return self.prefix + check_key(key)

    @contextmanager
    def asking(self, key: str, passing: set[str] | frozenset[str] = frozenset()) -> Iterator[None]:
        """Turn the server's and boto3's errors into one line; codes in `passing` rise unchanged."""
        uri = f"{self.uri}/{key}".rstrip("/")
        try:
            yield
        except ClientError as error:
            if code(error) in passing:
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
        found, where = code(error), self.endpoint or "AWS"
        if found == "NoSuchBucket" or (found in ABSENT and error.operation_name == "HeadBucket"):
            return f"bucket {self.name!r} does not exist at {where}; create it first"
        if found in ABSENT:
            return "no such object"
        if found in REFUSED:
            return (
                f"{where} refused the credentials ({found}); check AWS_ACCESS_KEY_ID, "
                "AWS_SECRET_ACCESS_KEY and the rights on the bucket"
            )
        text = f"{where} answered {' '.join(str(error).split())}"
        if self.checksums == "when_supported":
            text += "; an older server may need storage.checksums=when_required"
        return text


def code(error: ClientError) -> str:
    """The server's word for what is wrong."""
    return str(error.response.get("Error", {}).get("Code", ""))


def checksums(settings: StorageConfig, endpoint: str | None) -> Checksums:
    """`auto` resolved: AWS itself takes all checksums, of others nothing is known."""
    if settings.checksums == "auto":
        return "when_required" if endpoint else "when_supported"
    return settings.checksums


def _client(settings: StorageConfig, endpoint: str | None, wanted: Checksums) -> "S3Client":
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
            request_checksum_calculation=wanted,
            response_checksum_validation=wanted,
        ),
    )
