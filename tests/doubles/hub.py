"""A hub on loopback that answers the real client: commits, gated models, tokens, ranges, and lines
that break in the middle of a file."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_a_token_of_the_tests"


@dataclass
class Hub:
    """What the hub has, and what it was asked."""

    folder: Path
    """The files of its one model, `team/tiny`."""
    gated: bool = False
    """Needs TOKEN."""
    accepted: bool = True
    """Whether the token's account has accepted the conditions."""
    breaks: dict[str, int] = field(default_factory=dict)
    """File -> bytes after which its next connection breaks."""
    broken: set[str] = field(default_factory=set)
    """Files that it fails to give at all."""
    address: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and range of every request."""

    def fetched(self, name: str) -> list[str]:
        """The ranges of all GETs of a file."""
        return [
            part for verb, path, part in self.asked if verb == "GET" and path.endswith(f"/{name}")
        ]


@contextmanager
def serve_hub(hub: Hub) -> Iterator[Hub]:
    """The hub at its `address`, as the environment variable HF_ENDPOINT takes it."""

    class Handler(_Handler):
        model = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    model: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:  # noqa: N802
        self._route(body=False)

    def do_GET(self) -> None:  # noqa: N802
        self._route(body=True)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def _route(self, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        self.model.asked.append((self.command, path, self.headers.get("Range", "")))
        if refusal := self._refusal(path):
            status, code, message = refusal
            self._answer(status, b"{}", {"X-Error-Code": code, "X-Error-Message": message}, body)
        elif path.startswith("/api/models/team/tiny/revision/"):
            self._json(
                {"id": "team/tiny", "sha": COMMIT, "siblings": [], "cardData": {"license": "mit"}}
            )
        elif path.startswith("/api/models/team/tiny/tree/"):
            self._json([_entry(path) for path in sorted(self.model.folder.iterdir())])
        else:
            self._file(path.rpartition("/")[2], body)

    def _refusal(self, path: str) -> tuple[int, str, str] | None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token and token != TOKEN:
            return 401, "", "Invalid credentials in Authorization header"
        if "team/tiny" not in path:
            return (404 if token else 401), "RepoNotFound", "Repository not found"
        if path.startswith("/api/") and path.rpartition("/")[2] not in (COMMIT, "main"):
            return 404, "RevisionNotFound", "Invalid rev id"
        if self.model.gated and not (token and self.model.accepted):
            return (403 if token else 401), "GatedRepo", "Access to model is restricted"
        return None

    def _file(self, name: str, body: bool) -> None:
        if name in self.model.broken:
            self._answer(410, b"", {"X-Error-Message": "gone"}, body)
            return
        data = (self.model.folder / name).read_bytes()
        headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
        first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if first:
            headers["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
        stop = self.model.breaks.pop(name, None) if body else None
        self._answer(206 if first else 200, data[first:], headers, body, stop)

    def _json(self, value: Any) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"}, True)

    def _answer(
        self, status: int, data: bytes, headers: dict[str, str], body: bool, stop: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data[:stop])
        if stop is not None:
            self.close_connection = True
            self.connection.close()


def _entry(path: Path) -> dict[str, Any]:
    return {
        "type": "file", "path": path.name, "size": path.stat().st_size,
        "oid": hashlib.sha1(path.read_bytes()).hexdigest(),
    }  # fmt: skip
