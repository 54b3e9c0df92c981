"""A manifest against the schema of its kind: unknown fields, missing fields, wrong types.

Kubernetes' own kinds come from the kubernetes client's models, which are made of the API's OpenAPI
document; the few kinds of other projects are written down here, as far as deploy/ uses them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubernetes import client

from tests.doubles import trainer_controller

Manifest = Mapping[str, Any]
_PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "bool": (bool,), "float": (int, float), "object": (object,),
    "datetime": (str,),
}  # fmt: skip
_LABELS = {"matchLabels": {"*": str}}
OTHERS: dict[tuple[str, str], Any] = {
    ("kubeflow.org/v1alpha1", "PodDefault"): {
        "desc": str, "selector": _LABELS, "env": "list[V1EnvVar]",
        "volumeMounts": "list[V1VolumeMount]", "volumes": "list[V1Volume]",
    },
    ("serving.kserve.io/v1beta1", "InferenceService"): {
        "predictor": {
            "serviceAccountName": str, "automountServiceAccountToken": bool,
            "minReplicas": int, "maxReplicas": int, "labels": {"*": str},
            "storageUris": [{"uri": str, "mountPath": str}],
            "containers": "list[V1Container]", "volumes": "list[V1Volume]",
            "securityContext": "V1PodSecurityContext", "nodeSelector": {"*": str},
            "tolerations": "list[V1Toleration]",
            "imagePullSecrets": "list[V1LocalObjectReference]",
        },
    },
    ("kueue.x-k8s.io/v1beta1", "ResourceFlavor"): {"nodeLabels": {"*": str}},
    ("kueue.x-k8s.io/v1beta1", "LocalQueue"): {"clusterQueue": str},
    ("kueue.x-k8s.io/v1beta1", "ClusterQueue"): {
        "namespaceSelector": _LABELS, "queueingStrategy": str,
        "resourceGroups": [{
            "coveredResources": [str],
            "flavors": [{"name": str, "resources": [{"name": str, "nominalQuota": (int, str)}]}],
        }],
    },
}  # fmt: skip
"""(apiVersion, kind) of other projects -> the fields of its `spec`."""


def faults(manifest: Manifest) -> list[str]:
    """One sentence per fault, with the field's path."""
    version, kind = manifest.get("apiVersion", ""), manifest.get("kind", "")
    if kind == "TrainingRuntime":
        return trainer_controller.faults("trainingruntimes", manifest)
    if (version, kind) in OTHERS:
        return [*_model(manifest.get("metadata", {}), "V1ObjectMeta", "metadata"),
                *_fields(manifest.get("spec"), OTHERS[version, kind], "spec")]  # fmt: skip
    name = version.rpartition("/")[2]
    model = f"{name[:1].upper()}{name[1:]}{kind}"
    if not hasattr(client, model):
        return [f"{version} {kind}: no such kind"]
    return [f"{kind} {item}" for item in _model(manifest, model, "")]


def _model(value: Any, name: str, path: str) -> Iterator[str]:
    """A value against a model of the client."""
    if not isinstance(value, Mapping):
        yield f"{path}: expected a mapping, got {value!r}"
        return
    model = getattr(client, name)
    fields = {model.attribute_map[key]: kind for key, kind in model.openapi_types.items()}
    attributes = {theirs: ours for ours, theirs in model.attribute_map.items()}
    for key in value:
        if key not in fields:
            yield f"{path}.{key}: unknown field of {name}"
    known = {attributes[key]: item for key, item in value.items() if key in fields}
    try:
        model(**known)
    except ValueError as error:  # a field that must be there
        yield f"{path}: {error}"
    for key, item in value.items():
        if key in fields:
            yield from _typed(item, fields[key], f"{path}.{key}")


def _typed(value: Any, kind: str, path: str) -> Iterator[str]:
    """A value against a type as the client writes it: `list[V1Volume]`, `dict(str, str)`, `int`."""
    if found := re.fullmatch(r"list\[(.*)\]", kind):
        yield from _items(value, found[1], path)
    elif found := re.fullmatch(r"dict\(str, (.*)\)", kind):
        if not isinstance(value, Mapping):
            yield f"{path}: expected a mapping, got {value!r}"
            return
        for key, item in value.items():
            yield from _typed(item, found[1], f"{path}.{key}")
    elif kind in _PLAIN:
        if not isinstance(value, _PLAIN[kind]) or (kind == "int" and isinstance(value, bool)):
            yield f"{path}: expected {kind}, got {value!r}"
    else:
        yield from _model(value, kind, path)


def _items(value: Any, kind: str, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected a list, got {value!r}"
        return
    for index, item in enumerate(value):
        yield from _typed(item, kind, f"{path}[{index}]")


def _fields(value: Any, schema: Any, path: str) -> Iterator[str]:
    """A value against the shapes of `OTHERS`: all fields of a mapping may be left out."""
    if isinstance(schema, str):
        yield from _typed(value, schema, path)
    elif isinstance(schema, list):
        if not isinstance(value, list):
            yield f"{path}: expected a list, got {value!r}"
            return
        for index, item in enumerate(value):
            yield from _fields(item, schema[0], f"{path}[{index}]")
    elif isinstance(schema, dict):
        if not isinstance(value, Mapping):
            yield f"{path}: expected a mapping, got {value!r}"
            return
        for key, item in value.items():
            if key not in schema and "*" not in schema:
                yield f"{path}.{key}: unknown field"
            else:
                yield from _fields(item, schema.get(key, schema.get("*")), f"{path}.{key}")
    elif not isinstance(value, schema):
        yield f"{path}: expected {schema}, got {value!r}"
