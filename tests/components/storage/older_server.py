"""An S3 server that lacks what older ones lack: moto's, with some of it taken away."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

import boto3
from werkzeug.serving import WSGIRequestHandler, make_server

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


class _Silent(WSGIRequestHandler):
    def log_request(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def older_server(*quirks: Quirk) -> Iterator[str]:
    """The endpoint of a server with these quirks and an empty bucket."""
    from moto.server import DomainDispatcherApplication, create_backend_app

    moto = DomainDispatcherApplication(create_backend_app)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)

    def answer(request: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        for code in filter(None, [quirk(request) for quirk in quirks]):
            request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0))
            headers = [("Content-Type", "application/xml"), ("Connection", "close")]
            start("501 Not Implemented", headers)
            return [f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()]
        return list(moto(request, start))

    server = make_server("127.0.0.1", 0, answer, threaded=True, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(
            Bucket=BUCKET
        )
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
