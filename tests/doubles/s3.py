"""An S3 server: moto's, from which what older ones lack may be taken away.

A process of its own: vLLM looks at every value of every loaded module, and the proxies of moto's
web framework raise at a look.
"""

import logging
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import boto3
import pytest

_ROOT = Path(__file__).parents[2]
BUCKET = "older"
Quirk = Callable[[dict[str, Any]], str | None]
"""Changes a request, or answers with the code of an error."""


def refuses_new_checksums(request: dict[str, Any]) -> str | None:
    """Trailers, streamed bodies and checksum headers came in 2022 and later."""
    streams = str(request.get("HTTP_X_AMZ_CONTENT_SHA256", "")).startswith("STREAMING")
    names = ("HTTP_X_AMZ_TRAILER", "HTTP_X_AMZ_SDK_CHECKSUM_ALGORITHM", "HTTP_X_AMZ_CHECKSUM_MODE")
    return "NotImplemented" if streams or any(name in request for name in names) else None


def ignores_conditions(request: dict[str, Any]) -> str | None:
    """Conditional puts came in 2024; a header that is not known is no error to many."""
    request.pop("HTTP_IF_NONE_MATCH", None)
    return None


def refuses_conditions(request: dict[str, Any]) -> str | None:
    """Others say so."""
    return "NotImplemented" if "HTTP_IF_NONE_MATCH" in request else None


def ignores_ranges(request: dict[str, Any]) -> str | None:
    """Answers with the whole object."""
    request.pop("HTTP_RANGE", None)
    return None


def cannot_list_uploads(request: dict[str, Any]) -> str | None:
    """Some gateways in front of other stores."""
    query = parse_qs(request["QUERY_STRING"], keep_blank_values=True)
    listing = request["REQUEST_METHOD"] == "GET" and "uploads" in query
    return "NotImplemented" if listing else None


@contextmanager
def s3_server(*quirks: Quirk, bucket: str = BUCKET) -> Iterator[str]:
    """The endpoint of a server with these quirks of this module and an empty bucket."""
    command = [sys.executable, "-m", "tests.doubles.s3", *(quirk.__name__ for quirk in quirks)]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
    )
    with server:
        assert server.stdin and server.stdout
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        try:
            client = boto3.client(
                "s3", endpoint_url=endpoint, region_name="us-east-1",
                aws_access_key_id="any", aws_secret_access_key="any",
            )  # fmt: skip
            client.create_bucket(Bucket=bucket)
            yield endpoint
        finally:
            server.stdin.close()


@contextmanager
def usual_s3(monkeypatch: pytest.MonkeyPatch, bucket: str) -> Iterator[Any]:
    """boto3's client of a server that the usual chain of settings leads to."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with s3_server(bucket=bucket) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
        yield boto3.client("s3")


def _serve(quirks: list[Quirk]) -> None:
    """Until standard input ends, which it does with whoever started this."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    moto = DomainDispatcherApplication(create_backend_app)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)

    def answer(request: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        for code in filter(None, [quirk(request) for quirk in quirks]):
            request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0))
            headers = [("Content-Type", "application/xml"), ("Connection", "close")]
            start("501 Not Implemented", headers)
            return [f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()]
        return list(moto(request, start))

    server = make_server("127.0.0.1", 0, answer, threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve([globals()[name] for name in sys.argv[1:]])
