"""Entries of the package as canonical JSON text and back, without loss.

Metadata holds tuples, fractions and dictionaries with numbers as keys, which graders rely on and
JSON does not know: they are written as {"!": kind, "of": value}.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from hashlib import blake2b
from typing import Any

from envs.base import JSON

_TAG, _VALUE = "!", "of"


def to_json(value: Any) -> JSON:
    """The value as JSON. ValueError that names a type it does not know."""
    if value is None or isinstance(value, (bool, int, float)) and type(value).__module__ != "numpy":
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, tuple):
        return {_TAG: "tuple", _VALUE: [to_json(item) for item in value]}
    if isinstance(value, Fraction):
        return {_TAG: "fraction", _VALUE: str(value)}
    if isinstance(value, Mapping):
        if _TAG not in value and all(type(key) is str for key in value):
            return {key: to_json(item) for key, item in value.items()}
        return {_TAG: "dict", _VALUE: [[to_json(k), to_json(v)] for k, v in value.items()]}
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not value.shape:
        return to_json(value.item())
    raise ValueError(f"{type(value).__module__}.{type(value).__name__} has no JSON form here")


def from_json(encoded: JSON) -> Any:
    """The inverse of `to_json`."""
    if isinstance(encoded, list):
        return [from_json(item) for item in encoded]
    if not isinstance(encoded, dict):
        return encoded
    if _TAG not in encoded:
        return {key: from_json(item) for key, item in encoded.items()}
    kind, value = encoded[_TAG], encoded[_VALUE]
    if kind == "fraction":
        return Fraction(value)
    items = from_json(value)
    return tuple(items) if kind == "tuple" else {_key(key): item for key, item in items}


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


def dump(value: Any) -> str:
    """Canonical text."""
    return json.dumps(to_json(value), sort_keys=True, ensure_ascii=True, allow_nan=False)


def load(text: str) -> Any:
    """The inverse of `dump`."""
    return from_json(json.loads(text))


def digest(question: str) -> str:
    """What keeps splits apart: white space does not make a question a new one."""
    plain = " ".join(question.split())
    return blake2b(plain.encode("utf-8", "replace"), digest_size=16).hexdigest()
