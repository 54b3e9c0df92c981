"""How the metrics of a step's phases become one step's."""

import json
from dataclasses import asdict

import pytest

from components.errors import StorageError
from components.manifests import (
    StepManifest,
    load_manifest,
    merged_metrics,
    read_manifest,
    step_key,
)
from components.storage import Store
from tests.doubles.experiment import make_config


def make_manifest(step: str, finished: float, **metrics: float) -> StepManifest:
    return StepManifest("r", 1, step, "d", {}, {}, {}, metrics, finished)


def put(store: Store, manifest: StepManifest, number: str) -> str:
    key = step_key(make_config(), "r", 1, manifest.step, {"input": number})
    store.write(key, json.dumps(asdict(manifest)).encode())
    return key


def test_phases_add_up() -> None:
    first = {
        "rollout/num_tokens": 100.0, "rollout/generate_s": 2.0, "rollout/tokens_per_s": 50.0,
        "system/sample_turn/peak_memory_mib": 900.0, "rollout/train/success": 0.1,
    }  # fmt: skip
    second = {
        "rollout/num_tokens": 300.0, "rollout/generate_s": 3.0, "rollout/tokens_per_s": 100.0,
        "system/sample_turn/peak_memory_mib": 800.0, "rollout/train/success": 0.4,
    }  # fmt: skip
    assert merged_metrics([first, second]) == {
        "rollout/num_tokens": 400.0, "rollout/generate_s": 5.0, "rollout/tokens_per_s": 80.0,
        "system/sample_turn/peak_memory_mib": 900.0, "rollout/train/success": 0.4,
    }  # fmt: skip


def test_one_phase_stays_as_it_is() -> None:
    metrics = {"rollout/num_tokens": 0.0, "rollout/generate_s": 0.0, "rollout/tokens_per_s": 0.0}
    assert merged_metrics([metrics]) == metrics


def test_steps_come_in_order_of_completion(file_store: Store) -> None:
    put(file_store, make_manifest("group", 3.0), "a")
    put(file_store, make_manifest("rollout", 2.0, x_s=5.0, success=1.0), "late")
    put(file_store, make_manifest("rollout", 1.0, x_s=1.0, success=0.0), "early")
    found = read_manifest(file_store, "r", 1)
    assert list(found) == ["rollout", "group"]
    assert found["rollout"].metrics == {"x_s": 6.0, "success": 1.0}
    assert read_manifest(file_store, "r", 2) == {}


def test_another_schema_version_is_refused(file_store: Store) -> None:
    manifest = asdict(make_manifest("group", 1.0)) | {"schema_version": 99}
    file_store.write("m/manifest.json", json.dumps(manifest).encode())
    with pytest.raises(StorageError, match="m/manifest.json: schema_version 99, expected 1"):
        load_manifest(file_store, "m/manifest.json")


@pytest.mark.parametrize("data", [b'{"run": "r', b"[]", b'{"schema_version": 1}'])
def test_a_damaged_manifest_is_named(store: Store, data: bytes) -> None:
    store.write("a/manifest.json", data)
    with pytest.raises(StorageError, match="a/manifest.json: no manifest of a step .*; delete it"):
        load_manifest(store, "a/manifest.json")
