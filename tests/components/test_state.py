"""The training state is written once, and a run's name belongs to one configuration."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.config import parse_config
from components.errors import ConfigError, RecordError, StorageError
from components.policies import FolderRef
from components.state import (
    TrainingState,
    latest_iteration,
    load_state,
    read_state,
    register_run,
    save_state,
    write_state,
)
from components.storage import Store
from tests.doubles.experiment import make_config, make_policy


def make_state(**changes: Any) -> TrainingState:
    adapter = make_policy("plan", 3, base=make_policy("base"))
    state = TrainingState(
        run="r",
        iteration=3,
        config_digest=make_config().digest(),
        policies={"tool": make_policy("tool", 3), "plan": adapter},
        optimizers={"tool": FolderRef("file://store/optimizers/a", "a" * 64, 7)},
        initial={"tool": make_policy("tool"), "plan": make_policy("plan")},
        next_task=12,
        mlflow={"training_run_id": "x"},
    )
    return replace(state, **changes)


def test_store_and_file_round_trip(store: Store, tmp_path: Path) -> None:
    write_state(store, make_state())
    assert read_state(store, "r", 3) == make_state()
    save_state(tmp_path / "new" / "state", make_state())
    assert load_state(tmp_path / "new" / "state") == make_state()
    assert store.list("runs/") == ["runs/r/state/000003.json"]


def test_the_team_plays_the_configured_roles() -> None:
    assert make_state().team(make_config()).of("planner").tag.startswith("plan@3-")


def test_the_same_state_may_be_written_again_another_may_not(store: Store) -> None:
    write_state(store, make_state())
    write_state(store, make_state())
    other = make_state(next_task=16, policies={"tool": make_policy("tool", 4)})
    with pytest.raises(StorageError, match="next_task: was 12, is 16") as caught:
        write_state(store, other)
    assert "iteration 3 was committed with another result" in str(caught.value)
    assert read_state(store, "r", 3) == make_state()


def test_of_many_writers_of_different_states_one_wins(store: Store) -> None:
    def attempt(cursor: int) -> bool:
        try:
            write_state(store, make_state(next_task=cursor))
        except StorageError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(attempt, range(8)))
    assert sum(won) == 1
    assert read_state(store, "r", 3).next_task == won.index(True)


def test_the_latest_iteration(store: Store) -> None:
    assert latest_iteration(store, "r") is None
    for iteration in (0, 2, 11):
        write_state(store, make_state(iteration=iteration))
    write_state(store, make_state(run="r2", iteration=40))
    assert latest_iteration(store, "r") == 11


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        (json.dumps({"schema_version": 0}), "schema_version 0, expected 1"),
        (json.dumps({"schema_version": 1, "run": "r"}), "bad field 'policies'"),
        (json.dumps(make_state().to_json() | {"color": 1}), "bad field .*color"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "state"
    path.write_text(text)
    with pytest.raises(RecordError, match=f"{path}: .*{words}"):
        load_state(path)


def test_absent_states_are_named(file_store: Store, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="gone: training state cannot be read"):
        load_state(tmp_path / "gone")
    with pytest.raises(StorageError, match="runs/r/state/000007.json: no such object"):
        read_state(file_store, "r", 7)


def test_a_run_keeps_its_configuration(store: Store) -> None:
    register_run(store, "r", make_config())
    register_run(store, "r", make_config(iterations=99, tracking={"num_traces": 0}))
    rollout = {"num_tasks": 4, "num_candidates": 2, "env_workers": 3}
    register_run(store, "r", make_config(rollout=rollout))
    changed = make_config(seed=4, rollout={"num_tasks": 5, "num_candidates": 2})
    with pytest.raises(ConfigError) as caught:
        register_run(store, "r", changed)
    message = str(caught.value)
    assert "rollout.num_tasks: was 4, is 5; seed: was 0, is 4; choose another --name" in message
    assert "num_candidates" not in message
    register_run(store, "r2", changed)


def test_a_run_keeps_the_order_of_its_roles(file_store: Store) -> None:
    config = make_config()
    other = config.model_copy(update={"roles": dict(reversed(config.roles.items()))})
    for name, each in {"a": config, "b": other}.items():
        register_run(file_store, name, each)
        stored = parse_config(file_store.read(f"runs/{name}/config.json").decode())
        assert list(stored.roles) == list(each.roles)
    register_run(file_store, "a", other)


def test_a_run_of_an_older_version_goes_on(file_store: Store) -> None:
    """Its stored configuration lacks a key that came later, with a default."""
    older = json.loads(make_config().to_json())
    del older["update"]["gradient_checkpointing"]
    file_store.write("runs/r/config.json", json.dumps(older).encode())
    register_run(file_store, "r", make_config())
    with pytest.raises(ConfigError, match="gradient_checkpointing: was false, is true"):
        register_run(file_store, "r", make_config(update={"gradient_checkpointing": True}))


@pytest.mark.parametrize("run", ["", "a/b", "..", "-x", "a b", "x" * 101])
def test_run_names_are_safe(file_store: Store, run: str) -> None:
    with pytest.raises(ConfigError, match="run name"):
        latest_iteration(file_store, run)
