"""HTTP of the Kubernetes stand-in: from a path and a verb to the memory in kubernetes_api.py."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.doubles.kubernetes_api import Call, Kind, KubernetesApi, check_access
from tests.doubles.kubernetes_rules import JSON, Refused, patched

PATH = re.compile(
    r"/(?:api/(?P<core>v\d\w*)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/[^/]))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>status|scale|log))?"
)
BUILT_IN = ("", "apps", "batch", "autoscaling", "policy")
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    api: KubernetesApi
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:  # noqa: N802
        self._answer()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def _answer(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        try:
            if address.path == "/version":
                return self._send(200, {"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
            found = PATH.fullmatch(address.path)
            if found is None:
                raise Refused(404, "NotFound", "the server could not find the requested resource")
            kind = Kind(
                found["group"] or "", found["core"] or found["version"],
                found["namespace"] or "", found["plural"],
            )  # fmt: skip
            name, part = found["name"] or "", found["part"] or ""
            self._let_in(kind, name, part, query)
            body = json.loads(data) if data else {}
            status = 201 if self.command == "POST" else 200
            self._send(status, self._route(kind, name, part, query, body))
        except Refused as refused:
            words = {
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": refused.status,
                "reason": refused.reason, "message": str(refused),
            }  # fmt: skip
            self._send(refused.status, words)

    def _let_in(self, kind: Kind, name: str, part: str, query: JSON) -> None:
        resource = f"{kind.plural}/{part}" if part else kind.plural
        if self.command == "GET":
            verb = "watch" if _watches(query) else "get" if name else "list"
        elif self.command == "DELETE":
            verb = "delete" if name else "deletecollection"
        else:
            verb = VERBS[self.command]
        call = Call(verb, resource, kind.namespace, name)
        check_access(self.api, self.headers.get("authorization"), kind, call)
        self.api.calls.append(call)
        if refused := self.api.refuse(call):
            raise refused

    def _route(self, kind: Kind, name: str, part: str, query: dict[str, str], body: Any) -> Any:
        api = self.api
        if self.command == "GET" and not name:
            return api.watched(kind, query) if _watches(query) else api.listed(kind, query)
        if self.command == "POST":
            return api.create(kind, body, dry_run="dryRun" in query)
        if self.command == "DELETE":
            options = body | {k: v for k, v in query.items() if k == "propagationPolicy"}
            if name:
                return api.delete(kind, name, options)
            items = api.listed(kind, query)
            for item in items["items"]:
                api.delete(kind, item["metadata"]["name"], options)
            return items
        item = api.read(kind, name)
        if self.command == "GET":
            return api.logs.get(name, "") if part == "log" else _seen(item, part)
        if self.command == "PATCH":
            content = self.headers.get("Content-Type", "").split(";")[0]
            custom = kind.group not in BUILT_IN and not kind.group.endswith(".k8s.io")
            body = patched(_seen(item, part), body, content, custom)
        if part == "scale":
            item["spec"]["replicas"] = body["spec"]["replicas"]
            return _seen(api.replace(kind, name, item), part)
        return api.replace(kind, name, body, part)

    def _send(self, status: int, content: Any) -> None:
        if isinstance(content, Iterator):
            return self._stream(content)
        text = isinstance(content, str)
        data = content.encode() if text else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, lines: Iterator[JSON]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for line in lines:
                data = json.dumps(line).encode() + b"\n"
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:  # the client stopped watching
            self.close_connection = True


def _watches(query: JSON) -> bool:
    return query.get("watch") in ("true", "True", "1")


def _seen(item: JSON, part: str) -> JSON:
    """The object, or its scale."""
    if part != "scale":
        return item
    return {
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": dict(item["metadata"]),
        "spec": {"replicas": item["spec"].get("replicas", 1)},
        "status": {"replicas": item.get("status", {}).get("replicas", 0)},
    }  # fmt: skip
