"""Finding a registered team by name: its aliases and versions, without any experiment's file."""

import re
from dataclasses import dataclass
from typing import Any

from components.errors import TrackingError
from components.settings import TrackingConfig
from components.tracking.connection import open_client, tracking_uri, translated
from components.tracking.manifest import TeamManifest
from components.tracking.registry import read_alias, read_manifest, read_version
from components.tracking.whole import MANIFEST

_VERSION = re.compile(r"v?([0-9]+)")
"""A version; MLflow takes no alias of the form `v2`."""
_DIGITS = 9
"""Of a version at most: what every registry's database can count."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Of a team; MLflow would take a quote for the end of its query."""
MIRROR = "rolewise.model_registry"
"""Tag of a team's model: the Kubeflow Model Registry that it is exported to."""


@dataclass(frozen=True)
class RoleVersion:
    """A role's registered version."""

    role: str
    model: str
    version: str
    source: str
    """As registered: where MLflow says the model is."""
    aliases: tuple[str, ...]


def find_team(settings: TrackingConfig, team: str, selector: str) -> TeamManifest:
    """The team behind `champion`, another alias, or `v<number>`.

    TrackingError if there is none, with what there is, and for a mixed team.
    """
    number = _VERSION.fullmatch(selector)
    aliases = aliases_of(settings, team)
    if number and len(number[1]) > _DIGITS:
        raise TrackingError(f"team {team!r} has no version of {len(number[1])} digits")
    if number:
        return read_version(settings, team, number[1])
    manifest = read_alias(settings, team, selector) if selector in aliases else None
    if manifest is None:
        known = ", ".join(sorted(aliases)) or "none yet"
        raise TrackingError(
            f"team {team!r} has no alias {selector!r}; aliases: {known}; a version is `v<number>`"
        )
    return manifest


def aliases_of(settings: TrackingConfig, team: str) -> dict[str, str]:
    """Alias -> version of the team's own model. TrackingError names the teams if it is unknown."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"looking for team {team!r}"):
        sought = _NAME.fullmatch(team)
        found = client.search_registered_models(f"name = '{team}'") if sought else []
        if found:
            return {name: str(version) for name, version in found[0].aliases.items()}
        known = _teams(client)
    raise TrackingError(
        f"team {team!r} is not registered in {uri}; "
        f"teams: {', '.join(known) or 'none'}; --tracking-uri says where to look"
    )


def any_version(settings: TrackingConfig, team: str) -> TeamManifest:
    """The newest version that promotion registered, whole or not: it says where the team's
    storage is. TrackingError if there is none."""
    client, uri = open_client(settings), tracking_uri(settings)
    aliases_of(settings, team)
    with translated(uri, f"reading the versions of team {team!r}"):
        found = client.search_model_versions(f"name = '{team}'")
        ours = [version for version in found if MANIFEST in version.tags]
    if not ours:
        raise TrackingError(f"team {team!r} has no version that promotion registered")
    return read_manifest(max(ours, key=lambda version: int(version.version)))


def label_of(settings: TrackingConfig, model: str, version: str) -> str | None:
    """`<run>@<iteration>` of a registered version, by its tags; None if there is none."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"reading {model!r} version {version}"):
        found = client.search_model_versions(f"name = '{model}'")
    tags = next((item.tags for item in found if str(item.version) == version), None)
    return tags and f"{tags.get('rolewise.run')}@{tags.get('rolewise.iteration')}"


def role_versions(settings: TrackingConfig, manifest: TeamManifest) -> list[RoleVersion]:
    """The registered versions of the team's roles, in the manifest's order."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"reading the roles of team {manifest.team!r}"):
        return [_role_version(client, manifest, role) for role in manifest.roles]


def card_uri(settings: TrackingConfig, manifest: TeamManifest) -> str | None:
    """Where the version's model card is; None if it was registered without."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"reading team {manifest.team!r}"):
        version = client.get_model_version(manifest.team, manifest.versions[manifest.team])
        found: str | None = version.tags.get("rolewise.card")
        return found


def mirror_url(settings: TrackingConfig, team: str) -> str | None:
    """The Kubeflow Model Registry that this team is exported to; None if it is not."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"reading team {team!r}"):
        found = client.search_registered_models(f"name = '{team}'")
        url: str | None = found[0].tags.get(MIRROR) if found else None
        return url


def remember_mirror(settings: TrackingConfig, team: str, url: str) -> None:
    """From now on the team's champions go to this registry too, also after a rollback."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"tagging team {team!r}"):
        client.set_registered_model_tag(team, MIRROR, url)


def _role_version(client: Any, manifest: TeamManifest, role: str) -> RoleVersion:
    name = manifest.model(role)
    version = client.get_model_version(name, manifest.versions[name])
    return RoleVersion(role, name, str(version.version), version.source, tuple(version.aliases))


def _teams(client: Any) -> list[str]:
    """Registered models that are teams, not roles."""
    models = client.search_registered_models("tags.`rolewise.team` != ''")
    return sorted(model.name for model in models if "rolewise.role" not in model.tags)
