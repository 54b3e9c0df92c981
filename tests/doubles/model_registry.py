"""A stand-in of Kubeflow's Model Registry on loopback: its OpenAPI document decides what it takes.

Paths, query parameters, bodies and its own answers are checked against the document beside this
file. Names are unique among siblings, as there. Left out: filters, order, archived resources.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
import yaml

DOCUMENT = yaml.safe_load((Path(__file__).parent / "model_registry_v1alpha3.yaml").read_text())
PREFIX = "/api/model_registry/v1alpha3/"
PAGE = 2
"""Items of a page, whatever is asked for: everybody has to turn pages."""
JSON = dict[str, Any]


class Refused(Exception):
    """Status code and words."""


@dataclass
class Registry:
    """The server's memory."""

    url: str = ""
    token: str | None = None
    """If set, every call must bring it."""
    failures: int = 0
    """So many of the next calls are answered by 503."""
    items: dict[str, list[JSON]] = field(
        default_factory=lambda: {"registered_models": [], "model_versions": [], "artifacts": []}
    )
    parents: dict[str, str] = field(default_factory=dict)
    """Id -> id of the parent; ids are unique over all kinds here."""
    writes: int = 0

    def named(self, kind: str, name: str, parent: str | None = None) -> JSON | None:
        for item in self.items[kind]:
            if item["name"] == name and (parent is None or self.parents[item["id"]] == parent):
                return item
        return None

    def labelled(self, name: str) -> dict[str, list[str]]:
        """Model -> names of its versions that have the custom property."""
        return {
            model["name"]: [
                item["name"]
                for item in self.items["model_versions"]
                if self.parents[item["id"]] == model["id"] and name in item["customProperties"]
            ]
            for model in self.items["registered_models"]
        }

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> JSON:
        """Check the call, carry it out, check the answer."""
        template, operation, ids = _route(method, path)
        _check_query(operation, DOCUMENT["paths"][template], query)
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            _check(schema, body, 400)
        content = self._act(method, template, ids, query, body)
        (status, response), *_ = operation["responses"].items()
        schema = _resolved(response)["content"]["application/json"]["schema"]
        _check(schema, content, 500)
        return {"status": int(status), "content": content}

    def _act(
        self, method: str, template: str, ids: list[str], query: Mapping[str, str], body: JSON
    ) -> JSON:
        kind = template.removeprefix(PREFIX).split("/")
        parent = ids[0] if ids else ""
        if kind[0] in ("registered_model", "model_version"):
            found = self.named(f"{kind[0]}s", query["name"], query.get("parentResourceId"))
            if found is None:
                raise Refused(404, f"no {kind[0]} with name {query['name']}")
            return found
        target = {"versions": "model_versions", "artifacts": "artifacts"}.get(kind[-1], kind[0])
        if method == "GET":
            return self._page(target, parent, int(query.get("nextPageToken") or 0))
        self.writes += 1
        if method == "PATCH":
            item = next((it for it in self.items[target] if it["id"] == parent), None)
            if item is None:
                raise Refused(404, f"{target}/{parent} not found")
            item |= body
            return item
        return self._create(target, parent, body)

    def _create(self, kind: str, parent: str, body: JSON) -> JSON:
        if self.named(kind, body["name"], parent or None):
            raise Refused(409, f"{kind} with name {body['name']} already exists")
        made: JSON = {"customProperties": {}, "state": "LIVE"} | body
        made["id"] = str(len(self.parents) + 1)
        self.parents[made["id"]] = parent
        self.items[kind].append(made)
        return made

    def _page(self, kind: str, parent: str, start: int) -> JSON:
        own = [item for item in self.items[kind] if self.parents[item["id"]] == parent]
        page = own[start : start + PAGE]
        more = str(start + PAGE) if start + PAGE < len(own) else ""
        return {"items": page, "size": len(page), "pageSize": PAGE, "nextPageToken": more}


@contextmanager
def serving(registry: Registry) -> Iterator[Registry]:
    """The registry at `registry.url` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            try:
                self._admit()
                done = registry.answer(self.command, unquote(parts.path), query, body)
                self._send(done["status"], done["content"])
            except Refused as refusal:
                status, words = refusal.args
                self._send(status, {"code": str(status), "message": words})

        do_POST = do_PATCH = do_GET

        def _admit(self) -> None:
            if registry.failures:
                registry.failures -= 1
                raise Refused(503, "try again")
            if registry.token and self.headers.get("authorization") != f"Bearer {registry.token}":
                raise Refused(401, "unauthorised")

        def _send(self, status: int, content: JSON) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _route(method: str, path: str) -> tuple[str, JSON, list[str]]:
    for template, item in DOCUMENT["paths"].items():
        pattern = re.sub(r"\{\w+\}", "([^/]+)", template)
        match = re.fullmatch(pattern, path)
        if match and method.lower() in item:
            return template, item[method.lower()], list(match.groups())
    raise Refused(405, f"{method} {path}: the document has no such operation")


def _check_query(operation: JSON, item: JSON, query: Mapping[str, str]) -> None:
    known = [_resolved(it) for it in [*operation.get("parameters", []), *item["parameters"]]]
    schemas = {it["name"]: it["schema"] for it in known if it["in"] == "query"}
    for name, value in query.items():
        if name not in schemas:
            raise Refused(400, f"unknown query parameter {name}")
        _check(schemas[name], value, 400)


def _check(schema: JSON, value: Any, status: int) -> None:
    """Artifacts by their discriminator: the document's `oneOf` alone would fit several kinds."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in ("Artifact", "ArtifactUpdate"):
        mapping = DOCUMENT["components"]["schemas"][name]["discriminator"]["mapping"]
        kind = (value or {}).get("artifactType")
        if kind not in mapping:
            raise Refused(status, f"artifactType {kind!r} is none of {sorted(mapping)}")
        schema = {"$ref": mapping[kind]}
    if name == "ArtifactList":
        for item in value["items"]:
            _check({"$ref": "#/components/schemas/Artifact"}, item, status)
        return
    try:
        jsonschema.validate(value, schema | {"components": DOCUMENT["components"]})
    except jsonschema.ValidationError as error:
        raise Refused(status, f"{list(error.absolute_path)}: {error.message[:300]}") from error


def _resolved(value: JSON) -> JSON:
    if "$ref" not in value:
        return value
    found: Any = DOCUMENT
    for part in value["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)
