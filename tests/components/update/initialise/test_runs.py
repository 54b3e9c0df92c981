"""Policies of earlier runs as bases."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import PolicyError
from components.policies import PolicyRef
from components.settings import InitConfig, PolicyConfig, StorageConfig
from components.state import TrainingState, write_state
from components.storage import open_store
from components.update.initialise.bases import discard, materialise
from components.update.initialise.scratch import write_scratch_model

INIT = InitConfig(hidden_size=32, num_layers=1, intermediate_size=64)


@pytest.fixture
def storage(tmp_path: Path) -> StorageConfig:
    """A store in which run `first` left the policies `tool` and, as an adapter, `planner`."""
    settings = StorageConfig(uri=f"file://{tmp_path}/store")
    write_scratch_model(tmp_path / "model", INIT, ("walls", "a1"), 0)
    folder = open_store(settings).upload_folder(tmp_path / "model")
    tool = PolicyRef("tool", 2, folder.uri, folder.sha256, folder.bytes)
    policies = {"tool": tool, "planner": replace(tool, name="planner", base=tool)}
    state = TrainingState("first", 2, "digest", policies, {}, policies, next_task=0)
    write_state(open_store(settings), state)
    return settings


def make(base: str, storage: StorageConfig, cache: Path) -> Path:
    policy = PolicyConfig(base=base)
    return materialise("mine", policy, lexicon=tuple, seed=0, storage=storage, cache=cache)


def test_a_policy_of_a_run_is_a_base(storage: StorageConfig, tmp_path: Path) -> None:
    folder = make("run://first:2/tool", storage, tmp_path / "cache")
    weights = (folder / "model.safetensors").read_bytes()
    assert weights == (tmp_path / "model" / "model.safetensors").read_bytes()
    discard(folder, tmp_path / "cache")
    assert folder.exists(), "it belongs to the cache"


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("run://first/tool", "expected run://<run>:<iteration>/<policy>"),
        ("run://first:3/tool", "runs/first/state/000003.json"),
        ("run://other:0/tool", "runs/other/state/000000.json"),
        ("run://first:2/judge", r"run first has the policies \['planner', 'tool'\]"),
        ("run://first:2/planner", "is an adapter on tool, expected full weights"),
    ],
)
def test_faults_are_named(storage: StorageConfig, tmp_path: Path, base: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make(base, storage, tmp_path / "cache")
