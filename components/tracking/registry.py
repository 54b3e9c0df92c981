"""The model registry: one registered model per role and one for the team, moved only together.

Weights stay in object storage: a version's source is the policy's URI. A tracking server refuses
`file://` sources, so there the source is the manifest among the run's artifacts, and the tag
`rolewise.uri` says where the weights are. The team model's version carries the manifest as a tag.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.settings import TrackingConfig
from components.tracking.connection import is_server, open_client, tracking_uri, translated
from components.tracking.manifest import TeamManifest
from components.tracking.runs import existing_run
from components.tracking.whole import (
    DIGEST,
    MANIFEST,
    PUT_BACK,
    check_aliases,
    check_none,
    check_unedited,
    check_whole,
    digest_of,
    existing_version,
)

CHAMPION = "champion"
CANDIDATE = "candidate"
CARD = "README.md"
"""The model card among a promotion's artifacts; the tag `rolewise.card` says where it is."""


def register(
    settings: TrackingConfig,
    manifest: TeamManifest,
    training_run: str | None,
    card: str | None = None,
) -> TeamManifest:
    """Make a version of every model of the team; returns the manifest with `versions`.

    A version that was registered before from the same run, iteration and weights is taken again.
    `training_run` is the MLflow run that the versions link to, if this server has it; manifest and
    model `card` (Markdown) become its artifacts. TrackingError.
    """
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"registering team {manifest.team!r} ({manifest.label})"):
        folder, fallback, linked = _folder(manifest), None, existing_run(client, training_run)
        training_run = linked and str(linked.info.run_id)
        if linked is not None:
            fallback = f"{linked.info.artifact_uri}/{folder}"
            commit = linked.data.tags.get("rolewise.git_commit")  # of the code that trained it
            manifest = replace(manifest, git_commit=commit or manifest.git_commit)
        versions = {
            manifest.model(role): _register_role(
                client, manifest, role, training_run, fallback if is_server(uri) else None
            )
            for role in manifest.roles
        }
        manifest = replace(manifest, versions=versions)
        team = _register_team(client, manifest, fallback, training_run)
        if training_run is not None:
            _log_files(client, team, training_run, folder, card)
        return team


def move_alias(settings: TrackingConfig, manifest: TeamManifest, alias: str) -> None:
    """Point the alias of all the team's models at the manifest's versions: all, or none.

    If one cannot be moved, those already moved go back and TrackingError rises.
    """
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"moving alias {alias!r} of team {manifest.team!r}"):
        before = {name: _aliased(client, name, alias) for name in manifest.versions}
        moved: list[str] = []
        try:
            for name, version in manifest.versions.items():
                moved.append(name)
                client.set_registered_model_alias(name, alias, version)
        except Exception:  # whatever it was: put back what moved, then let it rise
            for name in moved:
                _restore(client, name, alias, before[name])
            raise


def champion(config: ExperimentConfig) -> TeamManifest | None:
    """The team that the alias `champion` names; None before the first promotion. TrackingError
    if the aliases of its roles point elsewhere: such a mixture was never evaluated."""
    team = config.team_name
    found = read_alias(config.tracking, team, CHAMPION)
    if found is None:
        models = [f"{team}.{role}" for role in config.roles]
        check_none(team, CHAMPION, alias_versions(config.tracking, models, CHAMPION))
    return found


def read_alias(settings: TrackingConfig, team: str, alias: str) -> TeamManifest | None:
    """The manifest behind an alias; None if the team has no such alias. TrackingError for a mixed
    team, see whole.py."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"reading alias {alias!r} of team {team!r}"):
        version = _aliased(client, team, alias)
        if version is None:
            return None
        manifest = read_manifest(existing_version(client, team, version))
        check_aliases(
            manifest, alias, {name: _aliased(client, name, alias) for name in manifest.versions}
        )
        check_whole(client, manifest, version)
    return manifest


def alias_versions(
    settings: TrackingConfig, models: Sequence[str], alias: str
) -> dict[str, str | None]:
    """Registered model -> the version that its alias names, or None."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"reading alias {alias!r}"):
        return {name: _aliased(client, name, alias) for name in models}


def read_version(settings: TrackingConfig, team: str, version: str) -> TeamManifest:
    """The manifest of one version of the team. TrackingError if it is none, mixed or not ours."""
    client, uri = open_client(settings), tracking_uri(settings)
    with translated(uri, f"reading team {team!r} version {version}"):
        manifest = read_manifest(existing_version(client, team, version))
        check_whole(client, manifest, version)
    return manifest


def read_manifest(version: Any) -> TeamManifest:
    """What a version of a team's model pins, itself included. TrackingError if it is not ours, or
    its tag was edited."""
    if MANIFEST not in version.tags:
        raise TrackingError(
            f"team {version.name!r} version {version.version}: no tag {MANIFEST}; it was not "
            "registered by promotion"
        )
    check_unedited(version)
    try:
        manifest = TeamManifest.from_json(version.tags[MANIFEST])
        if manifest.team != version.name:
            raise TrackingError(f"team manifest: of team {manifest.team!r}")
    except TrackingError as error:
        raise TrackingError(
            f"team {version.name!r} version {version.version}: tag {MANIFEST}: {error}; {PUT_BACK}"
        ) from error
    return replace(manifest, versions=manifest.versions | {version.name: str(version.version)})


def mark_champion(settings: TrackingConfig, manifest: TeamManifest, when: str) -> None:
    """Write into the team's model since when which team is the champion."""
    client, uri = open_client(settings), tracking_uri(settings)
    version = manifest.versions[manifest.team]
    with translated(uri, f"tagging team {manifest.team!r}"):
        client.set_registered_model_tag(manifest.team, "rolewise.champion", manifest.label)
        client.set_registered_model_tag(manifest.team, "rolewise.champion_since", when)
        client.set_model_version_tag(manifest.team, version, "rolewise.champion_since", when)


def _register_role(
    client: Any, manifest: TeamManifest, role: str, training_run: str | None, fallback: str | None
) -> str:
    """`fallback` is the source where a server would refuse a local one."""
    ref = manifest.playing.of(role)
    source = fallback if fallback and ref.uri.startswith("file:") else ref.uri
    note = (
        f"Plays `{role}` in team `{manifest.team}`: `{ref.tag}` at `{ref.uri}`. "
        "Belongs to one version of the team, whose tag `rolewise.manifest` pins it."
    )
    tags = _tags(manifest) | {
        "rolewise.role": role, "rolewise.policy": ref.tag, "rolewise.uri": ref.uri,
        "rolewise.sha256": ref.sha256, "rolewise.bytes": str(ref.bytes),
    }  # fmt: skip
    if ref.base:
        tags["rolewise.base_uri"] = ref.base.uri
    return _version(client, manifest.model(role), source, training_run, tags, note)


def _register_team(
    client: Any, manifest: TeamManifest, source: str | None, training_run: str | None
) -> TeamManifest:
    numbers = ", ".join(
        f"{name} {value:.3f}"
        for name, value in manifest.evaluation.items()
        if name.endswith("/success")
    )
    roles = "\n".join(
        f"- {role}: `{name}` version {manifest.versions[name]}, `{manifest.playing.of(role).tag}`"
        for role, name in ((role, manifest.model(role)) for role in manifest.roles)
    )
    note = f"Team of run `{manifest.run}`, iteration {manifest.iteration}. {numbers}\n\n{roles}"
    text = manifest.to_json()
    tags = _tags(manifest) | {MANIFEST: text, DIGEST: digest_of(text)}
    tags["rolewise.gate"] = "passed" if manifest.gate.get("promoted") else "refused"
    where = source or next(iter(manifest.policies.values())).uri
    version = _version(client, manifest.team, where, training_run, tags, note)
    return replace(manifest, versions=manifest.versions | {manifest.team: version})


def _version(
    client: Any, name: str, source: str, run_id: str | None, tags: Mapping[str, str], note: str
) -> str:
    """The number of the version of the same; made if there is none."""
    _ensure_model(client, name, tags)
    identity = _identity(tags)
    for found in client.search_model_versions(f"name = '{name}'"):
        if _identity(found.tags) == identity:
            return str(found.version)
    made = client.create_model_version(
        name, source, run_id=run_id, tags=dict(tags), description=note, await_creation_for=0
    )
    return str(made.version)


def _identity(tags: Mapping[str, str]) -> list[Any]:
    """What a version is of; the code that registers it may have been repaired in between."""
    keys = ("rolewise.run", "rolewise.iteration", "rolewise.sha256")
    pinned: Any = tags.get(MANIFEST, "")
    with suppress(ValueError, TypeError):  # of a role, or edited by hand
        pinned = _lasting(pinned)
    return [*(tags.get(key) for key in keys), pinned]


def _lasting(manifest: str) -> dict[str, Any]:
    """A manifest but for the commit of the code that wrote it."""
    content: dict[str, Any] = json.loads(manifest)
    return content | {"git_commit": None}


def _ensure_model(client: Any, name: str, tags: Mapping[str, str]) -> None:
    if client.search_registered_models(f"name = '{name}'"):
        return
    role = tags.get("rolewise.role")
    what = f"plays `{role}`" if role else "pins the versions of all roles"
    note = (
        f"Rolewise team `{tags['rolewise.team']}`: {what}. "
        "Aliases of the team's models move together."
    )
    kept = {key: tags[key] for key in ("rolewise.team", "rolewise.role") if key in tags}
    client.create_registered_model(name, tags=kept, description=note)


def _folder(manifest: TeamManifest) -> str:
    """Among the artifacts of a run, for a team that is not registered yet.

    The gate can be asked about one team again, against another champion or for another team name:
    each version has a folder of its own, and keeps what was said of it.
    """
    pinned = digest_of(json.dumps(_lasting(manifest.to_json())))
    return f"promotion/{manifest.iteration:06d}-{pinned[:8]}"


def _log_files(client: Any, team: TeamManifest, run_id: str, folder: str, card: str | None) -> None:
    """Put the version's manifest, letter by letter, and the card among the run's artifacts."""
    name, version = team.team, team.versions[team.team]
    text = client.get_model_version(name, version).tags[MANIFEST]
    client.log_text(run_id, text, f"{folder}/manifest.json")
    if card is not None:
        client.log_text(run_id, card, f"{folder}/{CARD}")
        uri = f"{client.get_run(run_id).info.artifact_uri}/{folder}/{CARD}"
        client.set_model_version_tag(name, version, "rolewise.card", uri)


def _tags(manifest: TeamManifest) -> dict[str, str]:
    return {
        "rolewise.team": manifest.team, "rolewise.run": manifest.run,
        "rolewise.iteration": str(manifest.iteration), "rolewise.env": manifest.env["name"],
        "rolewise.env_version": manifest.env["version"],
        "rolewise.config_digest": manifest.config_digest,
    }  # fmt: skip


def _aliased(client: Any, name: str, alias: str) -> str | None:
    """The version behind an alias, or None."""
    models = client.search_registered_models(f"name = '{name}'")
    version = models[0].aliases.get(alias) if models else None
    return None if version is None else str(version)


def _restore(client: Any, name: str, alias: str, version: str | None) -> None:
    if version is None:
        client.delete_registered_model_alias(name, alias)
    else:
        client.set_registered_model_alias(name, alias, version)
