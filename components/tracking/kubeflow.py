"""A client of Kubeflow's Model Registry (REST, v1alpha3): models, versions, artifacts by name.

Everything is looked up before it is made, so the same call again changes nothing.
"""

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from components.errors import TrackingError

VERSION = "v1alpha3"
PATH = f"/api/model_registry/{VERSION}"
TOKEN = "KF_MODEL_REGISTRY_TOKEN"
"""Variable with a bearer token, where the registry asks for one."""
TIMEOUT_S = 15.0
TRIES = 3
_AGAIN = (502, 503, 504)
Resource = dict[str, Any]


class ModelRegistry:
    """One registry; `url` with or without the API's path."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise TrackingError(
                f"model registry {url!r}: expected http(s)://host[:port], the service "
                "`model-registry-service` or its ingress"
            )
        self.url = url.rstrip("/").removesuffix(PATH)
        self.num_changes = 0
        """Resources made or changed so far."""

    def check(self, name: str) -> bool:
        """Whether it has a registered model of this name; TrackingError if nobody speaks our
        version of the API there. Nothing is changed."""
        try:
            self._call("GET", "registered_models", query={"pageSize": "1"})
        except _NotFound as error:
            raise TrackingError(
                f"model registry at {self.url}: somebody answers, but has no {PATH}: another "
                "service, or a registry of another version"
            ) from error
        return self._find("registered_model", {"name": name}) is not None

    def model(self, name: str, body: Resource) -> Resource:
        """The registered model of this name, made or brought up to date."""
        found = self._find("registered_model", {"name": name})
        return self._upsert("registered_models", found, "registered_models", {"name": name}, body)

    def version(self, model: Resource, name: str, body: Resource) -> Resource:
        """A version of the model."""
        found = self._find("model_version", {"name": name, "parentResourceId": model["id"]})
        fixed = {"name": name, "registeredModelId": model["id"]}
        place = f"registered_models/{model['id']}/versions"
        return self._upsert("model_versions", found, place, fixed, body)

    def versions(self, model: Resource) -> Iterator[Resource]:
        """All versions of the model, page by page."""
        yield from self._pages(f"registered_models/{model['id']}/versions")

    def artifact(self, version: Resource, name: str, body: Resource) -> Resource:
        """An artifact of the version; `artifactType` says of which kind."""
        place = f"model_versions/{version['id']}/artifacts"
        found = next((item for item in self._pages(place) if item.get("name") == name), None)
        return self._upsert("artifacts", found, place, {"name": name}, body)

    def update(self, kind: str, resource: Resource, body: Resource) -> Resource:
        """Change fields of a resource; custom properties are replaced together."""
        self.num_changes += 1
        return self._call("PATCH", f"{kind}/{resource['id']}", body=body)

    def _find(self, path: str, query: Mapping[str, str]) -> Resource | None:
        try:
            return self._call("GET", path, query=query)
        except _NotFound:
            return None

    def _upsert(
        self, kind: str, found: Resource | None, place: str, fixed: Resource, body: Resource
    ) -> Resource:
        if found is None:
            self.num_changes += 1
            return self._call("POST", place, body=fixed | body)
        wanted = dict(body)
        if "customProperties" in body:  # what others added stays
            own = found.get("customProperties") or {}
            wanted["customProperties"] = own | body["customProperties"]
        if all(found.get(key) == value for key, value in wanted.items()):
            return found
        return self.update(kind, found, wanted)

    def _pages(self, path: str) -> Iterator[Resource]:
        token = ""
        while True:
            query = {"pageSize": "100"} | ({"nextPageToken": token} if token else {})
            page = self._call("GET", path, query=query)
            yield from page.get("items") or []
            token = page.get("nextPageToken") or ""
            if not token:
                return

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Resource | None = None,
    ) -> Resource:
        """One call, repeated where the server or the way to it failed. TrackingError."""
        import requests

        token = os.environ.get(TOKEN)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        what, tries = (
            f"model registry at {self.url}: {method} {path}",
            1 if method == "POST" else TRIES,
        )
        for number in range(1, tries + 1):
            try:
                answer = requests.request(
                    method, f"{self.url}{PATH}/{path}", params=query, json=body, headers=headers,
                    timeout=TIMEOUT_S,
                )  # fmt: skip
            except requests.RequestException as error:
                fault = f"{type(error).__name__}; is it the registry's address?"
            else:
                if answer.status_code < 400:
                    return _json(answer, what)
                fault = _fault(answer)
                if answer.status_code == 404:
                    raise _NotFound(f"{what}: {fault}")
                if answer.status_code not in _AGAIN:
                    break
            if number < tries:
                time.sleep(0.5 * number)
        raise TrackingError(f"{what} failed: {fault}")


class _NotFound(TrackingError):
    """There is no such resource."""


def string(value: str) -> Resource:
    """A custom property; an empty text is shown as a label."""
    return {"metadataType": "MetadataStringValue", "string_value": value}


def number(value: float) -> Resource:
    """A custom property."""
    return {"metadataType": "MetadataDoubleValue", "double_value": value}


def _json(answer: Any, what: str) -> Resource:
    try:
        content = answer.json()
    except ValueError as error:
        raise TrackingError(
            f"{what}: the answer is no JSON but {answer.headers.get('content-type')!r}; "
            "a login page? Set a token or the registry's own address"
        ) from error
    return dict(content)


def _fault(answer: Any) -> str:
    try:
        text = str(answer.json().get("message", ""))
    except (ValueError, AttributeError):
        text = answer.text
    fix = f"; set {TOKEN}" if answer.status_code in (401, 403) else ""
    return f"{answer.status_code} {' '.join(text.split())[:200] or answer.reason}{fix}"
