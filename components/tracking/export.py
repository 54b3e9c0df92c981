"""A team in Kubeflow's Model Registry, beside MLflow's: a registered model per role and one for
the team, a version per promoted iteration, the champion marked.

That registry has no aliases: the label `champion` is a custom property of one version of each
model, the team's last of all.
"""

from collections.abc import Mapping
from typing import Any

from components.tracking.kubeflow import ModelRegistry, number, string
from components.tracking.manifest import TeamManifest
from components.tracking.registry import CHAMPION


def export(url: str, manifest: TeamManifest, card: str | None = None, champion: bool = True) -> int:
    """Write the team to the registry at `url`; returns how many resources were made or changed.

    `card` is the URI of the model card. `champion`: the version gets the label, others lose it.
    TrackingError. The same call again changes nothing.
    """
    registry = ModelRegistry(url)
    made = []
    for role in manifest.roles:
        model = registry.model(manifest.model(role), _model(manifest, role))
        version = registry.version(model, manifest.label, _role_version(manifest, role))
        weights = f"{manifest.model(role)} {manifest.label}"  # unique in the whole registry
        registry.artifact(version, weights, _weights(manifest, role))
        made.append((model, version))
    model = registry.model(manifest.team, _model(manifest, None))
    version = registry.version(model, manifest.label, _team_version(manifest))
    if card:
        body = {"artifactType": "doc-artifact", "uri": card, "description": "Model card"}
        registry.artifact(version, f"{manifest.team} {manifest.label} model card", body)
    made.append((model, version))
    if champion:
        for model, version in made:
            _mark(registry, model, version)
    return registry.num_changes


def _mark(registry: ModelRegistry, model: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """The label on the chosen version first, then off the others."""
    versions = list(registry.versions(dict(model)))
    for version in sorted(versions, key=lambda item: item["id"] != chosen["id"]):
        properties = dict(version.get("customProperties") or {})
        if (CHAMPION in properties) == (version["id"] == chosen["id"]):
            continue
        if version["id"] == chosen["id"]:
            properties[CHAMPION] = string("")
        else:
            del properties[CHAMPION]
        registry.update("model_versions", version, {"customProperties": properties})


def _model(manifest: TeamManifest, role: str | None) -> dict[str, Any]:
    what = f"plays `{role}`" if role else "pins the versions of all roles"
    properties = {"rolewise.team": string(manifest.team)}
    if role:
        properties["rolewise.role"] = string(role)
    return {
        "description": f"Rolewise team `{manifest.team}`: {what}. Versions of its models belong "
        "together by name.",
        "customProperties": properties,
    }


def _team_version(manifest: TeamManifest) -> dict[str, Any]:
    roles = ", ".join(f"{role} {manifest.playing.of(role).tag}" for role in manifest.roles)
    properties = _properties(manifest, manifest.team) | {
        "rolewise.manifest": string(manifest.to_json())
    }
    for name, value in manifest.evaluation.items():
        if name.rpartition("/")[2] in ("success", "success_low", "success_high"):
            properties[name] = number(value)
    return {"description": f"Team {manifest.label}: {roles}", "customProperties": properties}


def _role_version(manifest: TeamManifest, role: str) -> dict[str, Any]:
    ref = manifest.playing.of(role)
    properties = _properties(manifest, manifest.model(role)) | {
        "rolewise.role": string(role),
        "rolewise.policy": string(ref.tag),
        "rolewise.sha256": string(ref.sha256),
        "rolewise.base": string(manifest.bases[manifest.roles[role]]),
    }
    return {
        "description": f"Plays `{role}` in {manifest.label} of team `{manifest.team}`; never to be "
        "combined with roles of another version.",
        "customProperties": properties,
    }


def _properties(manifest: TeamManifest, model: str) -> dict[str, Any]:
    values = {
        "rolewise.team": manifest.team, "rolewise.run": manifest.run,
        "rolewise.iteration": str(manifest.iteration), "rolewise.env": manifest.env["name"],
        "rolewise.env_version": manifest.env["version"],
        "rolewise.config_digest": manifest.config_digest,
        "mlflow.model": model, "mlflow.version": manifest.versions.get(model, ""),
        "git.commit": manifest.git_commit or "unknown",
    }  # fmt: skip
    return {name: string(value) for name, value in values.items() if value}


def _weights(manifest: TeamManifest, role: str) -> dict[str, Any]:
    ref = manifest.playing.of(role)
    body: dict[str, Any] = {
        "artifactType": "model-artifact", "uri": ref.uri, "state": "LIVE",
        "modelFormatName": "peft" if ref.base else "huggingface",
        "modelSourceKind": "rolewise", "modelSourceName": manifest.label,
        "customProperties": {"sha256": string(ref.sha256)},
    }  # fmt: skip
    if ref.base:
        body["customProperties"]["base_uri"] = string(ref.base.uri)
    return body
