"""All that the registry's aliases point to: what must stay in storage whatever else goes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.policies import PolicyRef
from components.settings import TrackingConfig
from components.tracking.connection import open_client, tracking_uri, translated
from components.tracking.manifest import TeamManifest
from components.tracking.whole import MANIFEST

_URIS = ("rolewise.uri", "rolewise.base_uri")
_PAGE = 100


@dataclass(frozen=True)
class Aliased:
    """One alias of one registered model, of a team or of a role."""

    model: str
    alias: str
    uris: tuple[str, ...]
    """Folders of the policies behind it, their bases included."""


def has_registry(settings: TrackingConfig) -> bool:
    """False for a database file that does not exist; servers are only asked by `aliased`."""
    uri = tracking_uri(settings)
    return not uri.startswith("sqlite:///") or Path(uri.removeprefix("sqlite:///")).exists()


def aliased(settings: TrackingConfig) -> list[Aliased]:
    """Every alias, whoever set it. TrackingError if the registry cannot be asked."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, "reading the aliases of all registered models"):
        return [
            Aliased(model.name, alias, _uris(client, model.name, str(version)))
            for model in _models(client)
            for alias, version in model.aliases.items()
        ]


def _models(client: Any) -> Iterator[Any]:
    token = None
    while True:
        page = client.search_registered_models(max_results=_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _uris(client: Any, model: str, version: str) -> tuple[str, ...]:
    tags = client.get_model_version(model, version).tags
    found = [tags[name] for name in _URIS if name in tags]
    if MANIFEST in tags:
        for ref in TeamManifest.from_json(tags[MANIFEST]).policies.values():
            found += _with_base(ref)
    return tuple(dict.fromkeys(found))


def _with_base(ref: PolicyRef) -> list[str]:
    return [ref.uri, *(_with_base(ref.base) if ref.base else [])]
