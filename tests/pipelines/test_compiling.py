"""Compiled pipelines: golden files, the same bytes twice, and the limits of a cluster."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from pipelines.booking import runtime_of
from pipelines.compiling import MAX_DAG_BYTES, check_spec, compile
from pipelines.iteration import MAX_TASKS, num_phases, num_tasks
from pipelines.steps import STEPS
from tests.pipelines.experiment import POLICY, make_config
from tests.pipelines.regenerate import FOLDER, GOLDEN, compiled_text

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.mark.parametrize("name", GOLDEN)
def test_wiring_is_as_committed(name: str) -> None:
    golden = (FOLDER / f"{name}.yaml").read_text()
    assert compiled_text(name) == golden, "if meant: python -m tests.pipelines.regenerate"


@pytest.mark.parametrize("pipeline", ["iteration", "preparation", "promotion"])
def test_two_compiles_are_the_same_bytes(tmp_path: Path, pipeline: str) -> None:
    for name in ("a", "b"):
        compile(make_config(), "cpu", tmp_path / f"{name}.yaml", pipeline)
    assert (tmp_path / "a.yaml").read_bytes() == (tmp_path / "b.yaml").read_bytes()


def test_the_configuration_is_a_constant(tmp_path: Path) -> None:
    config = make_config()
    spec = compile(config, "cpu", tmp_path / "p.yaml")
    task = spec["root"]["dag"]["tasks"]["rollout"]
    constant = task["inputs"]["parameters"]["config"]["runtimeValue"]["constant"]
    assert constant == config.to_json()


def test_caching_is_off_and_run_parameters_are_described(tmp_path: Path) -> None:
    spec = compile(staged(num_turns=2), "cpu", tmp_path / "p.yaml")
    dags = [item["dag"] for item in [spec["root"], *spec["components"].values()] if "dag" in item]
    tasks = [task for dag in dags for task in dag["tasks"].values()]
    assert not any(task.get("cachingOptions", {}).get("enableCache") for task in tasks)
    parameters = spec["root"]["inputDefinitions"]["parameters"]
    assert list(parameters) == ["iteration", "promote", "run"]
    assert all(parameter["description"] for parameter in parameters.values())


@pytest.mark.parametrize(("num_turns", "share"), [(1, True), (2, False)])
def test_tasks_are_counted_right(tmp_path: Path, num_turns: int, share: bool) -> None:
    config = staged(num_turns=num_turns, share=share)
    spec = compile(config, "cpu", tmp_path / "p.yaml")
    assert num_tasks(config) == len(spec["deploymentSpec"]["executors"])


def test_too_many_turns_are_refused_with_the_way_out(tmp_path: Path) -> None:
    turns = MAX_TASKS
    with pytest.raises(ConfigError, match=f"{turns} turns x 2 phases .* set rollout.placement to"):
        compile(staged(num_turns=turns), "cpu", tmp_path / "p.yaml")
    fused = make_config(rollout={"num_turns": turns})
    compile(fused, "cpu", tmp_path / "p.yaml")


def test_a_single_role_has_one_phase_a_turn() -> None:
    config = make_config(
        env={"name": "plan_path", "options": {"roles": "planner"}},
        policies={"planner": POLICY},
        roles={"planner": "planner"},
    )
    assert num_phases(config) == 1


def test_largest_staged_pipeline_fits_one_dag(tmp_path: Path) -> None:
    spec = compile(staged(num_turns=8), "cpu", tmp_path / "p.yaml")
    assert len(spec["deploymentSpec"]["executors"]) == MAX_TASKS
    assert len(json.dumps(spec["components"]["comp-turns"]["dag"])) < MAX_DAG_BYTES


def test_limits_are_checked() -> None:
    task = {"inputs": "x" * MAX_DAG_BYTES}
    with pytest.raises(ConfigError, match="DAG root has .* bytes, expected at most 65536"):
        check_spec({"root": {"dag": {"tasks": {"a": task}}}, "components": {}})
    parameters = {f"p{i}": {} for i in range(11)}
    root = {"dag": {}, "inputDefinitions": {"parameters": parameters}}
    with pytest.raises(ConfigError, match="11 run parameters, expected at most 10"):
        check_spec({"root": root, "components": {}})


@pytest.mark.parametrize(("profile", "pipeline"), [("moon", "iteration"), ("cpu", "moon")])
def test_unknown_names_list_the_known(tmp_path: Path, profile: str, pipeline: str) -> None:
    with pytest.raises(ConfigError, match="'moon' is unknown; known: .*(cpu|iteration)"):
        compile(make_config(), profile, tmp_path / "p.yaml", pipeline)


def test_every_step_has_a_runtime() -> None:
    assert {name: runtime_of(step) for name, step in STEPS.items()} == {
        "initialise": "deepspeed",
        "warm_start": "deepspeed",
        "commit_initial": "cpu",
        "load_state": "cpu",
        "rollout": "vllm",
        "open_turns": "cpu",
        "sample_turn": "vllm",
        "execute_turn": "cpu",
        "evaluate_team": "vllm",
        "group": "cpu",
        "update": "deepspeed",
        "commit": "cpu",
        "evaluate": "vllm",
        "promote": "cpu",
    }


def staged(num_turns: int, share: bool = True) -> Any:
    """Staged placement."""
    return make_config(
        rollout={"placement": "staged", "num_turns": num_turns}, update={"share_process": share}
    )
