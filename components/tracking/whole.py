"""Whether a registered team is one team: every role's version of the same run and iteration.

A manifest can be edited and a version registered by hand; the tags that each role's version got
when it was registered say where its weights are from. A mixture was never evaluated.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from components.errors import TrackingError
from components.tracking.manifest import TeamManifest

MANIFEST = "rolewise.manifest"
"""Tag of a team model's version."""
DIGEST = "rolewise.manifest_sha256"
"""Tag beside it."""
PUT_BACK = "put it back from manifest.json, which the version's source or its run's artifacts hold"


def check_whole(client: Any, manifest: TeamManifest, version: str) -> None:
    """TrackingError naming each role that is of another run, iteration or weights than the team.

    `version` is the team's own.
    """
    faults = [
        fault
        for role in manifest.roles
        if (fault := _fault(client, manifest, role, manifest.model(role)))
    ]
    if faults:
        raise TrackingError(
            f"team {manifest.team!r} version {version} is mixed, it is {manifest.label}: "
            f"{'; '.join(faults)}. Roles learn together and were never evaluated like this: "
            f"promote a whole team, or `python -m pipelines rollback {manifest.team}`"
        )


def check_unedited(version: Any) -> None:
    """TrackingError if the manifest is not what was registered; older versions have no digest."""
    registered, manifest = (version.tags.get(name) for name in (DIGEST, MANIFEST))
    if registered and manifest is not None and digest_of(manifest) != registered:
        raise TrackingError(
            f"team {version.name!r} version {version.version}: tag {MANIFEST} was edited: sha256 "
            f"expected {registered}; {PUT_BACK}"
        )


def existing_version(client: Any, name: str, version: str) -> Any:
    """A registered model's version. TrackingError if there is none."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version(name, version)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        raise TrackingError(
            f"model {name!r} has no version {version} in the registry; is --tracking-uri right?"
        ) from error


def digest_of(manifest: str) -> str:
    """sha256 of a manifest's text."""
    return hashlib.sha256(manifest.encode()).hexdigest()


def check_aliases(manifest: TeamManifest, alias: str, found: Mapping[str, str | None]) -> None:
    """TrackingError if the models' aliases are not where the manifest's versions are."""
    faults = [
        f"{_role(manifest, name)} is at version {found[name]} of {name}, expected {expected}"
        for name, expected in manifest.versions.items()
        if found[name] != expected
    ]
    if faults:
        raise TrackingError(
            f"team {manifest.team!r}: alias {alias!r} is a mixture, not {manifest.label}: "
            f"{'; '.join(faults)}; `python -m pipelines rollback {manifest.team}` repairs it"
        )


def check_none(team: str, alias: str, found: Mapping[str, str | None]) -> None:
    """TrackingError if roles have an alias that their team has not."""
    faults = [f"{name} at version {number}" for name, number in found.items() if number is not None]
    if faults:
        raise TrackingError(
            f"team {team!r}: its model has no alias {alias!r}, but {', '.join(faults)} have it; "
            f"`python -m pipelines rollback {team}` repairs it"
        )


def _fault(client: Any, manifest: TeamManifest, role: str, name: str) -> str | None:
    number = manifest.versions.get(name)
    if number is None:
        return f"role {role!r} has no version of {name}"
    tags = existing_version(client, name, number).tags
    label = f"{tags.get('rolewise.run')}@{tags.get('rolewise.iteration')}"
    ref = manifest.playing.of(role)
    if label == manifest.label and tags.get("rolewise.sha256") == ref.sha256:
        return None
    policy = tags.get("rolewise.policy", "no policy of ours")
    return (
        f"role {role!r} is {name} version {number}, which is {policy} of {label}, "
        f"expected {ref.tag} of {manifest.label}"
    )


def _role(manifest: TeamManifest, name: str) -> str:
    role = name.removeprefix(f"{manifest.team}.")
    return "the team" if name == manifest.team else f"role {role!r}"
