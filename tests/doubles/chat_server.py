"""A chat server on loopback, as a process: it knows names, and answers what it was asked.

python tests/doubles/chat_server.py PORT NAME...
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    names: tuple[str, ...] = ()

    def do_GET(self) -> None:  # noqa: N802
        if self.path == "/v1/models":
            self._answer(200, {"data": [{"id": name} for name in self.names]})
        else:
            self._answer(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if os.environ.get("VLLM_API_KEY", "") not in self.headers.get("Authorization", ""):
            self._answer(401, {"error": "Unauthorized"})
        elif asked["model"] not in self.names:
            self._answer(404, {"error": {"message": f"no model {asked['model']}"}})
        else:
            text = f"{asked['model']} heard {asked['messages'][-1]['content']}"
            self._answer(200, {"choices": [{"message": {"content": text}}]})

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def _answer(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    Handler.names = tuple(sys.argv[2:])
    if Handler.names == ("broken",):
        sys.exit("ValueError: no weights\nbye")
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
