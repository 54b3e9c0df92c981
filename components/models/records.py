"""What is known of an imported model: where it came from, its licence, what it says of itself.

A part of it travels inside the model's folder, so that every policy trained on it carries it; the
whole lies beside the folder in storage, so that models can be listed without fetching them.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from components.errors import StorageError
from components.storage import Store

PREFIX = "models"
"""Of imported models in a store; `policies` holds what runs make and clear away."""
ORIGIN = "rolewise-origin.json"
"""In the folder: source and licence."""
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ModelRecord:
    """One imported model."""

    name: str
    base: str
    """What `policies.<name>.base` takes: the folder's URI."""
    sha256: str
    bytes: int
    source: str
    licence: str | None
    architecture: str
    dtype: str
    num_tokens: int
    max_length: int | None
    system_messages: bool
    thinking: bool
    schema_version: int = SCHEMA_VERSION


def write_origin(folder: Path, source: str, licence: str | None) -> None:
    """Put source and licence into a model's folder. No time, no machine: the same model has the
    same digest wherever it is imported."""
    content = {"licence": licence, "schema_version": SCHEMA_VERSION, "source": source}
    (folder / ORIGIN).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_origin(folder: Path) -> dict[str, Any]:
    """Source and licence of a folder that was imported; empty for any other."""
    try:
        value = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def save(store: Store, record: ModelRecord) -> None:
    """Write the record beside the model's folder."""
    data = json.dumps(asdict(record), indent=1, sort_keys=True).encode()
    store.write(f"{PREFIX}/{record.sha256}.json", data)


def listed(store: Store) -> list[ModelRecord]:
    """All models that were imported into the store, by name."""
    keys = [key for key in store.list(f"{PREFIX}/") if key.count("/") == 1]
    return sorted((_read(store, key) for key in keys), key=lambda record: record.name)


def _read(store: Store, key: str) -> ModelRecord:
    try:
        return ModelRecord(**json.loads(store.read(key)))
    except (ValueError, TypeError) as error:
        raise StorageError(
            f"{store.uri}/{key}: no record of an imported model of this version: {error}; import "
            "the model again, or delete the record"
        ) from error
