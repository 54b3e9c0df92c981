"""Records that were damaged in the store: errors name the object, not the copy that was read."""

import json
import re
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components import records
from components.answers import keep_answers, kept_answers
from components.errors import RecordError, StorageError
from components.records import Episode, Sample
from components.settings import StorageConfig
from components.storage import Store, open_store
from components.stored_records import read_committed, read_stored
from tests.components.reporting.viewer.rows import make_group

KEY = "runs/r/steps/000001/group/x/samples"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = open_store(StorageConfig(uri=f"file://{tmp_path}/store"))
    records.write(tmp_path / "samples", Sample, make_group())
    found.upload_file(tmp_path / "samples", KEY)
    return found


def fault(read: Any) -> str:
    with pytest.raises((RecordError, StorageError)) as found:
        read()
    return str(found.value)


@pytest.mark.parametrize("keep", [0, 2, 60, -1])
def test_a_truncated_object_is_named_by_its_uri(keep: int, store: Store) -> None:
    store.write(KEY, store.read(KEY)[:keep])
    told = fault(lambda: read_stored(store, KEY, Sample))
    assert told.startswith(f"{store.uri}/{KEY}: cannot be read as a Sample record: Parquet ")
    assert "/" not in told.removeprefix(f"{store.uri}/{KEY}")  # no other path


def test_an_object_of_another_kind_is_named_by_its_uri(store: Store) -> None:
    told = fault(lambda: read_stored(store, KEY, Episode))
    assert told.startswith(f"{store.uri}/{KEY}: record and schema_version are ('Sample'")


@pytest.mark.parametrize("damage", [b"", b"{}"])
def test_kept_answers_are_named_by_their_uri(damage: bytes, store: Store) -> None:
    step: Any = SimpleNamespace(run="r", iteration=1, name="evaluate", store=store)
    keep_answers(step, "validation", [sample.scored for sample in make_group()])
    key = "runs/r/answers/000001/evaluate/validation.parquet"
    store.write(key, damage)
    assert fault(lambda: kept_answers(store, "r", 1)).startswith(f"{store.uri}/{key}: cannot be")


def test_a_committed_output_is_named_by_its_uri(store: Store) -> None:
    """One that its manifest agrees with, but which is no such record; and one that it does not."""
    manifest = KEY.replace("samples", "manifest.json")
    data = store.read(KEY)
    store.write(manifest, manifest_of(data))
    assert read_committed(store, manifest, "samples", Sample).num_rows == 2
    told = fault(lambda: read_committed(store, manifest, "samples", Episode))
    assert told.startswith(f"{store.uri}/{KEY}: record and schema_version are")
    store.write(KEY, data[:-1])
    told = fault(lambda: read_committed(store, manifest, "samples", Sample))
    assert re.match(rf"{re.escape(store.uri)}/{KEY}: sha256 expected \w+, got", told)


def manifest_of(data: bytes) -> bytes:
    outputs = {"samples": {"bytes": len(data), "sha256": sha256(data).hexdigest()}}
    content = {
        "run": "r", "iteration": 1, "step": "group", "config_digest": "", "inputs": {},
        "extra": {}, "outputs": outputs, "metrics": {}, "finished_unix_s": 0.0,
        "schema_version": 1,
    }  # fmt: skip
    return json.dumps(content).encode()
