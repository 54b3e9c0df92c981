"""A stand-in of the Kubernetes API on loopback, for tests with the real client.

Any group, version, namespace and plural: get, list and watch with selectors, create, replace,
patch, delete (with dependents, as the garbage collector does), `status`, `scale` and `log`;
resource versions, conflicts, tokens with a Role's rules, and faults on demand. What controllers do
is left to functions of the test (`api.control`), one thread each, which see every change in order.
Left out: schemas, defaults, finalizers, admission, discovery.

    with serving() as api:
        api.control("trainjobs", lambda event: event.sets_status({"jobsStatus": [...]}))
        with api.client() as client: kubernetes.client.CustomObjectsApi(client).create...
"""

import copy
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.doubles.kubernetes_rules import (
    JSON,
    Refused,
    allowed,
    check_metadata,
    field_selects,
    selects,
)


class Kind(NamedTuple):
    """A collection: what a path names, before the object's name. `namespace` "": of the cluster."""

    group: str
    version: str
    namespace: str
    plural: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Place(NamedTuple):
    """Where an object is kept: whatever version it was posted under."""

    group: str
    namespace: str
    plural: str
    name: str


@dataclass(frozen=True)
class Event:
    """A change, as watches and controllers see it."""

    type: str
    """ADDED, MODIFIED or DELETED."""
    item: JSON
    place: Place
    version: int
    api: "KubernetesApi"

    @property
    def name(self) -> str:
        return self.place.name

    def sets_status(self, status: JSON) -> None:
        """Merge into the object's status, if the object is still there."""
        self.api.set_status(self.place, status)


Control = Callable[[Event], None]


@dataclass(frozen=True)
class Call:
    """A request that was let in."""

    verb: str
    """As RBAC names it: get, list, watch, create, update, patch, delete, deletecollection."""
    resource: str
    """`plural` or `plural/subresource`."""
    namespace: str
    name: str


@dataclass
class KubernetesApi:
    """The server's memory. Its methods may be called by tests and controllers too."""

    tokens: dict[str, list[JSON] | None] = field(default_factory=dict)
    """token -> a Role's rules, None: everything. Empty: nobody needs a token."""
    refuse: Callable[[Call], Refused | None] = lambda call: None
    """Asked before every call; an answer is the server's fault or a quota's."""
    admit: dict[str, Callable[[JSON], None]] = field(default_factory=dict)
    """Plural -> what changes a new object before it is kept: an address that is assigned."""
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    objects: dict[Place, JSON] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    """Pod name -> what `log` answers."""
    events: list[Event] = field(default_factory=list)
    changed: threading.Condition = field(
        default_factory=lambda: threading.Condition(threading.RLock())
    )
    closed: bool = False
    _controls: list[tuple[str, "queue.Queue[Event | None]", threading.Thread]] = field(
        default_factory=list
    )

    # What tests use.

    def control(self, plural: str, function: Control) -> None:
        """Let `function` see every change of such objects, in order, in a thread of its own."""
        waiting: queue.Queue[Event | None] = queue.Queue()

        def work() -> None:
            while (event := waiting.get()) is not None:
                with suppress(Refused):  # the object went away meanwhile: the next event says so
                    function(event)

        thread = threading.Thread(target=work, daemon=True, name=f"control {plural}")
        self._controls.append((plural, waiting, thread))
        thread.start()

    def find(self, plural: str, name: str | None = None) -> list[JSON]:
        """Objects of that plural (and name), in all namespaces, in the order of their creation."""
        with self.changed:
            return [
                copy.deepcopy(item) for place, item in self.objects.items()
                if place.plural == plural and name in (None, place.name)
            ]  # fmt: skip

    def await_change(self, holds: Callable[[], Any], timeout_s: float = 10.0) -> Any:
        """Wait until `holds()` is true; returns it. AssertionError when the time is over."""
        with self.changed:
            found = self.changed.wait_for(holds, timeout_s)
        assert found, "the awaited change did not come"
        return found

    @contextmanager
    def client(self, token: str | None = None) -> Iterator[Any]:
        """An ApiClient of the package `kubernetes` that speaks to this server."""
        from kubernetes import client

        configuration = client.Configuration(host=self.url)
        if token:
            configuration.api_key["authorization"] = f"Bearer {token}"
        configuration.retries = False
        with client.ApiClient(configuration) as made:
            yield made

    def kubeconfig(self, path: Path, token: str | None = None, namespace: str = "default") -> Path:
        """Write a kubeconfig that points here."""
        user = {"token": token} if token else {}
        context = {"cluster": "stand-in", "user": "test", "namespace": namespace}
        content = {
            "apiVersion": "v1", "kind": "Config", "current-context": "stand-in",
            "clusters": [{"name": "stand-in", "cluster": {"server": self.url}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "stand-in", "context": context}],
        }  # fmt: skip
        path.write_text(yaml.safe_dump(content))
        return path

    def pod_account(self, folder: Path, token: str, namespace: str = "default") -> Path:
        """Write what a pod finds of its service account: token, namespace."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "token").write_text(token)
        (folder / "namespace").write_text(namespace)
        return folder

    # What the API does.

    def create(self, kind: Kind, body: JSON, dry_run: bool = False) -> JSON:
        """Keep a new object. Refused if its name is taken or its content does not fit the path."""
        item = copy.deepcopy(body)
        metadata = item.setdefault("metadata", {})
        if "name" not in metadata and "generateName" in metadata:
            metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
        _check_body(kind, item, str(metadata.get("name", "")))
        check_metadata(metadata, kind.plural)
        place = Place(kind.group, kind.namespace, kind.plural, metadata["name"])
        with self.changed:
            if place in self.objects:
                words = f'{kind.resource} "{place.name}" already exists'
                raise Refused(409, "AlreadyExists", words)
            item.pop("status", None)
            metadata["uid"], metadata["generation"] = str(uuid.uuid4()), 1
            metadata["creationTimestamp"] = now()
            if kind.namespace:
                metadata["namespace"] = kind.namespace
            self.admit.get(kind.plural, lambda item: None)(item)
            if not dry_run:
                item = self._keep("ADDED", place, item)
                self._collect_garbage()
            return copy.deepcopy(item)

    def read(self, kind: Kind, name: str) -> JSON:
        with self.changed:
            return copy.deepcopy(self.objects[self._known(kind, name)])

    def replace(self, kind: Kind, name: str, body: JSON, part: str = "") -> JSON:
        """Replace an object but for its status, or (`part`) its status alone."""
        with self.changed:
            place = self._known(kind, name)
            old, new = self.objects[place], copy.deepcopy(body)
            _check_body(kind, new, name)
            given = new["metadata"].get("resourceVersion")
            if given and given != old["metadata"]["resourceVersion"]:
                raise Refused(
                    409, "Conflict",
                    f'Operation cannot be fulfilled on {kind.resource} "{name}": the object has '
                    "been modified; please apply your changes to the latest version and try again",
                )  # fmt: skip
            if part == "status":
                new = old | {"status": new.get("status", {})}
            else:
                kept = {"uid", "creationTimestamp", "generation", "namespace"}
                new["metadata"] |= {k: v for k, v in old["metadata"].items() if k in kept}
                new.pop("status", None)
                new |= {"status": old["status"]} if "status" in old else {}
                if new.get("spec") != old.get("spec"):
                    new["metadata"]["generation"] += 1
                check_metadata(new["metadata"], kind.plural)
            if _unversioned(new) != _unversioned(old):
                self._keep("MODIFIED", place, new)
            return copy.deepcopy(self.objects[place])

    def delete(self, kind: Kind, name: str, options: JSON | None = None) -> JSON:
        """Remove an object and what it owns, unless its dependents shall be orphans."""
        with self.changed:
            place = self._known(kind, name)
            item = self.objects[place]
            for key, value in ((options or {}).get("preconditions") or {}).items():
                if value and item["metadata"].get(key) != value:
                    words = f'precondition {key} of {kind.resource} "{name}" does not hold'
                    raise Refused(409, "Conflict", words)
            self._remove(place, orphan=(options or {}).get("propagationPolicy") == "Orphan")
            return copy.deepcopy(item)

    def set_status(self, place: Place, status: JSON) -> None:
        """What a controller does: merge into the status of an object that still exists."""
        with self.changed:
            item = self.objects.get(place)
            if item is not None:
                self._keep("MODIFIED", place, item | {"status": item.get("status", {}) | status})

    def listed(self, kind: Kind, query: dict[str, str]) -> JSON:
        """A list; without a namespace, of all namespaces."""
        with self.changed:
            items = [
                copy.deepcopy(item) for place, item in self.objects.items()
                if fits(place, item, kind, query)
            ]  # fmt: skip
            version = str(len(self.events))
        return {
            "kind": "List", "apiVersion": kind.api_version, "items": items,
            "metadata": {"resourceVersion": version},
        }  # fmt: skip

    def watched(self, kind: Kind, query: dict[str, str]) -> Iterator[JSON]:
        """Changes after `resourceVersion`, or all objects and then changes, until the timeout."""
        end = time.monotonic() + float(query.get("timeoutSeconds") or 60)
        given = query.get("resourceVersion") or "0"
        with self.changed:
            seen = len(self.events) if given == "0" else int(given)
        if given == "0":
            for item in self.listed(kind, query)["items"]:
                yield {"type": "ADDED", "object": item}
        while time.monotonic() < end and not self.closed:
            with self.changed:
                if len(self.events) == seen:
                    self.changed.wait(0.5)
                fresh, seen = self.events[seen:], len(self.events)
            for event in fresh:
                if fits(event.place, event.item, kind, query):
                    yield {"type": event.type, "object": event.item}

    # Within.

    def _known(self, kind: Kind, name: str) -> Place:
        place = Place(kind.group, kind.namespace, kind.plural, name)
        if place not in self.objects:
            raise Refused(404, "NotFound", f'{kind.resource} "{name}" not found')
        return place

    def _keep(self, type: str, place: Place, item: JSON) -> JSON:
        version = len(self.events) + 1
        item = copy.deepcopy(item)
        item["metadata"]["resourceVersion"] = str(version)
        if type == "DELETED":
            self.objects.pop(place, None)
        else:
            self.objects[place] = item
        event = Event(type, copy.deepcopy(item), place, version, self)
        self.events.append(event)
        for plural, waiting, _ in self._controls:
            if plural == place.plural:
                waiting.put(event)
        self.changed.notify_all()
        return item

    def _remove(self, place: Place, orphan: bool) -> None:
        self._keep("DELETED", place, self.objects[place])
        if not orphan:
            self._collect_garbage()

    def _collect_garbage(self) -> None:
        """Remove what has owners of which none exists."""
        alive = {item["metadata"]["uid"] for item in self.objects.values()}
        for place, item in list(self.objects.items()):
            owners = item["metadata"].get("ownerReferences") or []
            orphaned = owners and not any(owner["uid"] in alive for owner in owners)
            if orphaned and place in self.objects:
                self._remove(place, orphan=False)

    def close(self) -> None:
        """Delete everything, let the controllers see it, and end them."""
        with self.changed:
            for place in list(self.objects):
                if place in self.objects:
                    self._remove(place, orphan=True)
            self.closed = True
            self.changed.notify_all()
        for _, waiting, thread in self._controls:
            waiting.put(None)
            thread.join(30)


def fits(place: Place, item: JSON, kind: Kind, query: dict[str, str]) -> bool:
    """Whether a list or watch shows an object."""
    return (
        (place.group, place.plural) == (kind.group, kind.plural)
        and kind.namespace in ("", place.namespace)
        and selects(query.get("labelSelector"), item["metadata"].get("labels") or {})
        and field_selects(query.get("fieldSelector"), item)
    )


def _check_body(kind: Kind, item: JSON, name: str) -> None:
    if not item.get("kind") or item.get("apiVersion") != kind.api_version:
        words = (
            f"the API version in the data ({item.get('apiVersion')}) does not match the expected"
        )
        raise Refused(400, "BadRequest", f"{words} API version ({kind.api_version})")
    metadata = item["metadata"]
    if metadata.get("namespace", kind.namespace) != kind.namespace:
        raise Refused(400, "BadRequest", "the namespace of the object does not match the request")
    if metadata.get("name") != name:
        raise Refused(
            400, "BadRequest", "the name of the object does not match the name on the URL"
        )


def _unversioned(item: JSON) -> JSON:
    metadata = {k: v for k, v in item["metadata"].items() if k != "resourceVersion"}
    return item | {"metadata": metadata}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_access(api: KubernetesApi, header: str | None, kind: Kind, call: Call) -> None:
    """401 for an unknown token, 403 for a verb that its rules do not allow."""
    if not api.tokens:
        return
    token = (header or "").removeprefix("Bearer ")
    if token not in api.tokens:
        raise Refused(401, "Unauthorized", "Unauthorized")
    rules: Sequence[JSON] | None = api.tokens[token]
    if rules is None or allowed(rules, kind.group, call.resource, call.verb, call.name):
        return
    raise Refused(
        403, "Forbidden",
        f'{kind.resource} "{call.name}" is forbidden: User "{token}" cannot {call.verb} resource '
        f'"{call.resource}" in API group "{kind.group}" in the namespace "{kind.namespace}"',
    )  # fmt: skip


@contextmanager
def serving(**options: Any) -> Iterator[KubernetesApi]:
    """A server on a free port of loopback; at the end all objects are deleted, which controllers
    see."""
    from tests.doubles.kubernetes_http import Handler

    api = KubernetesApi(**options)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"api": api}))
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield api
    finally:
        api.close()
        server.shutdown()
        thread.join()
        server.server_close()
