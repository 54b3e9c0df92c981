"""A team as KServe resources: an InferenceService per server, and the account that reads weights.

The container is the project's own vLLM image, as in training: KServe's Hugging Face runtime knows
one name per model, and another version of vLLM. Weights are fetched by KServe's own initialiser.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.errors import ConfigError
from components.models.serving import Limits, Server, engine_words, vllm_words
from pipelines.profile import StepSettings

ACCOUNT = "rolewise-serving"
CONTAINER = "kserve-container"
"""The name by which KServe knows the one that serves."""
PORT = 8080
MODELS = "/mnt/models"
STARTUP_S = 1800
"""Weights are read before the first answer."""
Manifest = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where and how the servers run."""

    image: str
    settings: StepSettings
    dtype: str
    quantization: str | None
    tensor_parallel: int
    secret: str
    """With the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""
    namespace: str | None
    min_replicas: int
    max_replicas: int

    @property
    def words(self) -> list[str]:
        """Arguments of vLLM that are not about the team."""
        return engine_words(self.tensor_parallel, self.quantization)


def manifests(
    team: str, label: str, planned: Sequence[tuple[Server, Limits]], place: Place
) -> list[Manifest]:
    """The service account, then an InferenceService per server; `label` is the team's version."""
    names = [_name(team, server, len(planned)) for server, _ in planned]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"two servers of team {team!r} would be called {twice[0]!r}")
    services = [
        _service(name, team, label, server, limit, place)
        for name, (server, limit) in zip(names, planned, strict=True)
    ]
    return [_account(place), *services]


def _account(place: Place) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": _metadata(ACCOUNT, place),
        "secrets": [{"name": place.secret}], "automountServiceAccountToken": False,
    }  # fmt: skip


def _service(
    name: str, team: str, label: str, server: Server, limit: Limits, place: Place
) -> Manifest:  # fmt: skip
    versions = {f"rolewise.dev/{role}": ref.tag for role, ref in _played(server).items()}
    annotations = {"serving.kserve.io/deploymentMode": "RawDeployment", "rolewise.dev/team": label}
    metadata = _metadata(name, place) | {
        "labels": {"app.kubernetes.io/part-of": "rolewise", "rolewise.dev/team": _plain(team)},
        "annotations": annotations | versions,
    }
    return {
        "apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService",
        "metadata": metadata, "spec": {"predictor": _predictor(server, limit, place)},
    }  # fmt: skip


def _predictor(server: Server, limit: Limits, place: Place) -> Manifest:
    settings = place.settings
    predictor: Manifest = {
        "serviceAccountName": ACCOUNT, "automountServiceAccountToken": False,
        "minReplicas": place.min_replicas, "maxReplicas": place.max_replicas,
        "storageUris": _storage(server), "containers": [_container(server, limit, place)],
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }  # fmt: skip
    if settings.labels:
        predictor["labels"] = dict(settings.labels)
    if settings.node_selector:
        predictor["nodeSelector"] = dict(settings.node_selector)
    if settings.tolerations:
        kept = [item.model_dump(exclude_none=True) for item in settings.tolerations]
        predictor["tolerations"] = kept
    if settings.image_pull_secrets:
        predictor["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    if settings.shm:
        memory = {"medium": "Memory", "sizeLimit": settings.shm}
        predictor["volumes"] = [{"name": "shm", "emptyDir": memory}]
    return predictor


def _storage(server: Server) -> list[dict[str, str]]:
    """Every folder once; roles that share an adapter read the same one."""
    found = {server.weights.uri: f"{MODELS}/weights"}
    for role, ref in server.adapters.items():
        found.setdefault(ref.uri, f"{MODELS}/{_plain(role)}")
    return [{"uri": uri, "mountPath": path} for uri, path in found.items()]


def _container(server: Server, limit: Limits, place: Place) -> Manifest:
    paths = {item["uri"]: item["mountPath"] for item in _storage(server)}
    adapters = {role: paths[ref.uri] for role, ref in server.adapters.items()}
    weights, *words = vllm_words(
        paths[server.weights.uri], server.roles, adapters, limit, place.dtype
    )
    words += [*place.words, "--port", str(PORT)]
    probe = {"httpGet": {"path": "/health", "port": PORT}, "periodSeconds": 10}
    container: Manifest = {
        "name": CONTAINER, "image": place.image,
        "command": ["python", "-m", "vllm.entrypoints.openai.api_server"],
        "args": ["--model", weights, *words],
        "env": [{"name": key, "value": value} for key, value in _environment(place).items()],
        "ports": [{"containerPort": PORT, "protocol": "TCP"}],
        "startupProbe": {**probe, "failureThreshold": STARTUP_S // 10},
        "readinessProbe": probe, "livenessProbe": {**probe, "failureThreshold": 6},
        "resources": _resources(place),
        "securityContext": {
            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        },
    }  # fmt: skip
    if place.settings.shm:
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    return container


def _environment(place: Place) -> dict[str, str]:
    """No hub is asked, nobody is told of the use."""
    return {**place.settings.env, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}


def _resources(place: Place) -> dict[str, dict[str, str]]:
    settings = place.settings
    given = {"cpu": settings.cpu, "memory": settings.memory}
    asked = {name: value for name, value in given.items() if value}
    if settings.accelerator:
        asked[settings.accelerator.type] = str(place.tensor_parallel)
    return {"requests": dict(asked), "limits": dict(asked)}


def _played(server: Server) -> Mapping[str, Any]:
    return {**dict.fromkeys(server.roles, server.weights), **server.adapters}


def _metadata(name: str, place: Place) -> dict[str, Any]:
    return {"name": name} | ({"namespace": place.namespace} if place.namespace else {})


def _name(team: str, server: Server, num_servers: int) -> str:
    """A DNS label with room for what KServe and the ingress put around it."""
    name = _plain(team) if num_servers == 1 else f"{_plain(team)[:28]}-{_plain(server.plays[0])}"
    return name[:40].strip("-")


def _plain(text: str) -> str:
    """Lower case letters, digits and signs between them, as names in Kubernetes are."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return plain if plain[:1].isalpha() else f"t-{plain}"
