"""A manifest against the schema in a CustomResourceDefinition: fields known, types right."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Schema = Mapping[str, Any]


def read_schema(path: Path, version: str) -> Schema:
    """The schema of one version in a CRD's file."""
    definition = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    (found,) = (item for item in definition["spec"]["versions"] if item["name"] == version)
    schema: Schema = found["schema"]["openAPIV3Schema"]
    return schema


def schema_faults(manifest: Mapping[str, Any], schema: Schema) -> list[str]:
    """One sentence per fault. Beyond JSON schema: a field that the API server would drop."""
    from jsonschema import Draft202012Validator

    wrong = [
        f"{'.'.join(map(str, error.path))}: {error.message}"
        for error in Draft202012Validator(_plain(schema)).iter_errors(manifest)
    ]
    return wrong + [f"{path}: unknown field" for path in _unknown(manifest, schema, "")]


def _unknown(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if schema.get("x-kubernetes-preserve-unknown-fields") or path == ".metadata":
        return
    if isinstance(value, Mapping):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            if key in known:
                yield from _unknown(item, known[key], f"{path}.{key}")
            elif isinstance(others, Mapping):
                yield from _unknown(item, others, f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items", {}), f"{path}[{index}]")


def _plain(schema: Any) -> Any:
    """JSON schema of a structural schema: a number or a text where Kubernetes takes both."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    return {key: _plain(item) for key, item in schema.items() if key != "format"}
