"""Bytes of a file at a local path or an s3:// address, and a local cache of what came from afar.

The S3 endpoint and credentials come by boto3's usual variables (`AWS_ENDPOINT_URL`,
`AWS_ACCESS_KEY_ID`, ...), in path style. The bucket must exist. Nothing is retried beyond boto3.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PART_BYTES = 16 * 2**20


def fetch(uri: str, limit: int, pin: str | None) -> bytes:
    """The file's bytes; with a digest `pin`, from the cache if they are there.

    ValueError if the file is absent, unreadable or larger than `limit` bytes.
    """
    if not uri.startswith("s3://"):
        return _read_local(uri, limit)
    if pin and (data := _cached(pin)) is not None:
        return data
    data = _read_s3(uri, limit)
    _cache(data)
    return data


def store(uri: str, data: bytes) -> None:
    """Write the whole file; readers see the old bytes or the new ones."""
    if uri.startswith("s3://"):
        bucket, key = _address(uri)
        with _asking(uri):
            _client().put_object(Bucket=bucket, Key=key, Body=data)
        return
    path = _path(uri)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(data)
        os.replace(scratch, path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink()
        raise ValueError(f"{uri}: cannot be written ({error.strerror})") from error


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/rolewise/problems`, by default below ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "rolewise" / "problems"


def _read_local(uri: str, limit: int) -> bytes:
    try:
        return _bytes(_path(uri), uri, limit)
    except OSError as error:
        raise ValueError(f"{uri}: cannot be read ({error.strerror})") from error


def _bytes(path: Path, name: str, limit: int) -> bytes:
    """Of a regular file, opened without waiting for a pipe's other end."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise ValueError(f"{name!r} is no path ({error}), expected a file") from error
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{name}: not a regular file, expected one")
        if found.st_size > limit:
            raise ValueError(f"{name}: {found.st_size} bytes, expected at most {limit}")
        with open(opened, "rb", closefd=False) as file:
            data = file.read(found.st_size + 1)
    finally:
        os.close(opened)
    if len(data) > found.st_size:
        raise ValueError(f"{name}: more bytes than its size {found.st_size}, expected a whole file "
                         "that nobody is writing")  # fmt: skip
    return data


def _path(uri: str) -> Path:
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file"):
        raise ValueError(f"{uri}: scheme {parts.scheme!r}, expected a path, file:// or s3://")
    return Path(unquote(parts.path)) if parts.scheme else Path(uri).expanduser()


def _read_s3(uri: str, limit: int) -> bytes:
    bucket, key = _address(uri)
    with _asking(uri):
        answer = _client().get_object(Bucket=bucket, Key=key)
        if answer["ContentLength"] > limit:
            raise ValueError(f"{uri}: {answer['ContentLength']} bytes, expected at most {limit}")
        return answer["Body"].read()


def _address(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    if not bucket or not key:
        raise ValueError(f"{uri}: expected s3://bucket/key")
    return bucket, key


def _client() -> "S3Client":
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        "s3",
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path"},
            connect_timeout=5,
            read_timeout=60,
            retries={"mode": "standard", "max_attempts": 4},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


@contextmanager
def _asking(uri: str) -> Iterator[None]:
    """The server's and boto3's errors as one line."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        reason = " ".join(str(error).split())
        raise ValueError(f"{uri}: {endpoint or 'AWS'} answered: {reason}") from error


def _cached(pin: str) -> bytes | None:
    """The bytes with this digest; None if they are not there or no longer have it."""
    path = cache_folder() / pin
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return data if sha256(data).hexdigest() == pin else None


def _cache(data: bytes) -> None:
    """Best effort: a read-only or full disk costs a download next time, nothing else."""
    with suppress(OSError, ValueError):
        store(str(cache_folder() / sha256(data).hexdigest()), data)
