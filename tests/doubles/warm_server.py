"""A stand-in of a warm server's vLLM: the same paths, answers made up from the weights' digest.

As a program it takes the place of `components.rollout.warm.process`; with WARM_SERVER_DIES set it
ends at once.
"""

import contextlib
import hashlib
import json
import os
import socket
import sys
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from components.process import die_with_parent
from components.rollout.warm.control import EXPECTED
from components.rollout.warm.process import NAME

JSON = dict[str, Any]


@dataclass
class FakeServer:
    """Its memory."""

    key: str
    weights: str
    port: int = 0
    host: str = "127.0.0.1"
    adapters: list[str] = field(default_factory=list)
    stale: bool = False
    """Whether it says that it loads weights, and answers as before."""
    statuses: list[int] = field(default_factory=list)
    """Of the next completions, instead of an answer."""
    answering: str = ""
    """Digest of the weights that the answers are made from."""
    calls: list[str] = field(default_factory=list)
    bodies: list[JSON] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answering = self.weights

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def answer(self, path: str, body: JSON, expected: str | None) -> tuple[int, JSON]:
        """Status and content."""
        self.calls.append(path)
        if path == "/health":
            return 200, {}
        if path == "/warm/state":
            return 200, {"weights": self.weights, "num_loads": 0}
        if path == "/warm/fetch":
            return 200, {"folder": f"/cache/{body['sha256']}"}
        if path == "/warm/weights":
            self.weights = body["sha256"]
            self.answering = self.answering if self.stale else self.weights
            return 200, {"weights": self.weights, "seconds": 0.0}
        if path == "/v1/models":
            return 200, {"data": [{"id": name} for name in [NAME, *self.adapters]]}
        if path == "/v1/load_lora_adapter":
            self.adapters.append(body["lora_name"])
            return 200, {}
        if path == "/v1/unload_lora_adapter":
            self.adapters.remove(body["lora_name"])
            return 200, {}
        return self._complete(body, expected)

    def _complete(self, body: JSON, expected: str | None) -> tuple[int, JSON]:
        self.bodies.append(body)
        if self.statuses:
            return self.statuses.pop(0), {"error": {"message": "a fault on demand"}}
        if expected not in (None, self.weights):
            return 409, {"error": f"the weights are {self.weights}"}
        if body["model"] not in (NAME, *self.adapters):
            return 404, {"error": {"message": f"The model `{body['model']}` does not exist."}}
        voice = self.answering if body["model"] == NAME else body["model"].rpartition("-")[2]
        prompt = body["prompt"]
        if body.get("prompt_logprobs") is not None:
            entries = [None] + [
                {str(token): {"logprob": logprob(voice, prompt[: at + 1])}}
                for at, token in enumerate(prompt) if at
            ]  # fmt: skip
            return 200, {"choices": [{"prompt_logprobs": entries}]}
        ids = [1 + (body["seed"] + at) % 5 for at in range(body["max_tokens"])]
        values = [logprob(voice, [*prompt, *ids[: at + 1]]) for at in range(len(ids))]
        choice = {
            "finish_reason": "length", "token_ids": ids, "logprobs": {"token_logprobs": values},
        }  # fmt: skip
        return 200, {"choices": [choice]}


def logprob(voice: str, ids: list[int]) -> float:
    """A made-up log-prob of the last of `ids`, another one for other weights."""
    number = hashlib.sha256(f"{voice} {ids}".encode()).digest()
    return -0.1 - int.from_bytes(number[:2], "big") / 65536


class Handler(BaseHTTPRequestHandler):
    """HTTP to the server's memory."""

    fake: FakeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:  # noqa: N802
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, content = 401, {"error": "Unauthorized"}
        if self.path == "/health" or self.headers["Authorization"] == f"Bearer {self.fake.key}":
            body = json.loads(data) if data else {}
            status, content = self.fake.answer(self.path, body, self.headers[EXPECTED])
        plain = self.path.endswith("lora_adapter") and status == 200  # as vLLM answers these
        answer = b"Success: done." if plain else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if plain else "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815


class Listener(ThreadingHTTPServer):
    """Its end is the end of all connections, as that of a process is."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self.connections: list[Any] = []
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.append(request)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def listening(fake: FakeServer) -> Listener:
    """The HTTP server, not yet serving."""
    handler = type("Bound", (Handler,), {"fake": fake})
    server = Listener((fake.host, fake.port), handler)
    fake.port = server.server_port
    return server


def main(path: str) -> None:
    die_with_parent()
    with open(path) as file:
        content = json.load(file)
    seat, plan = content["seat"], json.loads(content["plan"])
    fake = FakeServer(seat["key"], plan["folder"]["sha256"], seat["port"], seat["host"])
    if os.environ.get("WARM_SERVER_DIES"):
        sys.exit(3)
    listening(fake).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
