"""Compiled pipelines: golden files, the same bytes twice, and the limits of a cluster."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.errors import ConfigError
from pipelines.booking import runtime_of
from pipelines.compiling import (
    MAX_DAG_BYTES,
    MAX_TASKS,
    PIPELINES,
    check_spec,
    compile,
    compile_manifest,
    count_tasks,
    read_spec,
)
from pipelines.iteration import num_rollouts, num_tasks
from pipelines.steps import STEPS
from tests.doubles.kfp_checks import checked_spec
from tests.pipelines.experiment import BUCKET, POLICY, make_config, pinned
from tests.pipelines.regenerate import FOLDER, GOLDEN, compiled_text

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.mark.parametrize("name", GOLDEN)
def test_wiring_is_as_committed(name: str) -> None:
    golden = (FOLDER / f"{name}.yaml").read_text()
    assert compiled_text(name) == golden, "if meant: python -m tests.pipelines.regenerate"


@pytest.mark.parametrize("pipeline", PIPELINES)
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
    assert num_tasks(config) == count_tasks(spec, spec["root"])


def test_too_many_turns_are_refused_with_the_way_out(tmp_path: Path) -> None:
    turns = MAX_TASKS
    with pytest.raises(
        ConfigError, match=f"unrolls {2 * turns} phases .* set rollout.placement to"
    ):
        compile(staged(num_turns=turns), "cpu", tmp_path / "p.yaml")
    fused = make_config(rollout={"num_turns": turns})
    compile(fused, "cpu", tmp_path / "p.yaml")


def test_a_single_role_has_one_rollout_a_turn() -> None:
    config = make_config(
        env={"name": "plan_path", "options": {"roles": "planner"}},
        policies={"planner": POLICY},
        roles={"planner": "planner"},
        rollout={"num_turns": 3},
    )
    assert num_rollouts(config) == 3


def test_largest_staged_pipeline_fits_one_dag(tmp_path: Path) -> None:
    spec = compile(staged(num_turns=8), "cpu", tmp_path / "p.yaml")
    assert len(spec["deploymentSpec"]["executors"]) == MAX_TASKS
    assert len(json.dumps(spec["components"]["comp-turns"]["dag"])) < MAX_DAG_BYTES


def test_limits_are_checked() -> None:
    task = {"inputs": "x" * MAX_DAG_BYTES}
    with pytest.raises(ConfigError, match="DAG root has .* bytes, expected at most 65536"):
        check_spec({"root": {"dag": {"tasks": {"a": task}}}, "components": {}})
    parameters: dict[str, Any] = {f"p{i}": {} for i in range(11)}
    root = {"dag": {}, "inputDefinitions": {"parameters": parameters}}
    with pytest.raises(ConfigError, match="11 run parameters, expected at most 10"):
        check_spec({"root": root, "components": {}})
    silent = {"dag": {}, "inputDefinitions": {"parameters": {"run": {"parameterType": "STRING"}}}}
    with pytest.raises(ConfigError, match=r"run parameters \['run'\] have no description"):
        check_spec({"root": silent, "components": {}})
    tasks = {f"t{i}": {"componentRef": {"name": "step"}} for i in range(MAX_TASKS + 1)}
    with pytest.raises(ConfigError, match="41 tasks, expected at most 40; set rollout.placement"):
        check_spec({"root": {"dag": {"tasks": tasks}}, "components": {"step": {}}})


def test_too_many_updates_are_refused_with_the_way_out(tmp_path: Path) -> None:
    names = [f"r{i}" for i in range(MAX_TASKS)]
    config = make_config(
        env={"name": "tests.doubles.words:make_words", "options": {"roles": names}},
        policies=dict.fromkeys(names, {"base": "file://m"}),
        roles={name: name for name in names},
        update={"share_process": False},
    )
    with pytest.raises(
        ConfigError, match="40 policies.* make 46 tasks.* update.share_process to t"
    ):
        compile(config, "cpu", tmp_path / "p.yaml")


def test_a_refused_pipeline_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.compiling.MAX_DAG_BYTES", 100)
    with pytest.raises(ConfigError, match="DAG root has .* set rollout.placement to fused"):
        compile(make_config(), "cpu", tmp_path / "p.yaml")
    assert not (tmp_path / "p.yaml").exists()


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_pipeline_passes_what_the_api_server_checks(tmp_path: Path, pipeline: str) -> None:
    profile = pinned("8xh100")
    spec = compile(make_config(storage=BUCKET), profile, tmp_path / "p.yaml", pipeline)
    run = {"run": "r"} | ({} if pipeline in ("preparation", "training") else {"iteration": 1})
    assert checked_spec(spec, {"parameters": run})["pipelineInfo"]["name"].endswith(pipeline)
    images = [item["container"]["image"] for item in spec["deploymentSpec"]["executors"].values()]
    assert all("@sha256:" in image for image in images)


def test_the_driver_gets_profile_and_parameters(tmp_path: Path) -> None:
    spec = compile(make_config(storage=BUCKET), pinned("8xh100"), tmp_path / "p.yaml", "training")
    given = spec["root"]["dag"]["tasks"]["train"]["inputs"]["parameters"]
    profile = json.loads(given["profile"]["runtimeValue"]["constant"])
    assert profile["images"] == pinned("8xh100").images
    parameters = spec["root"]["inputDefinitions"]["parameters"]
    assert parameters["iterations"]["defaultValue"] == 3
    assert all(parameter["isOptional"] for parameter in parameters.values())


def test_results_must_lie_where_pods_reach_them(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="storage.uri is 'file://build/store', but the pods of pr"
    ):
        compile(make_config(), pinned("single-gpu"), tmp_path / "p.yaml")
    local = make_config(storage=BUCKET, tracking={"uri": "sqlite:///mlflow.db"})
    with pytest.raises(ConfigError, match="tracking.uri is 'sqlite:///mlflow.db', which ends with"):
        compile(local, pinned("single-gpu"), tmp_path / "p.yaml")


def test_kubernetes_manifest(tmp_path: Path) -> None:
    config, path = make_config(storage=BUCKET), tmp_path / "m.yaml"
    compile_manifest(config, pinned("8xh100"), path, "training", "teams")
    pipeline, version = yaml.safe_load_all(path.read_text())
    assert pipeline["apiVersion"] == version["apiVersion"] == "pipelines.kubeflow.org/v2beta1"
    assert pipeline["kind"] == "Pipeline" and pipeline["metadata"]["namespace"] == "teams"
    name = pipeline["metadata"]["name"]
    assert re.fullmatch(f"{name}-[0-9a-f]{{8}}", version["metadata"]["name"])
    assert version["spec"]["pipelineName"] == name == "rolewise-wired-training"
    assert read_spec(path) == compile(config, pinned("8xh100"), tmp_path / "p.yaml", "training")
    assert "activeDeadlineSeconds" in json.dumps(version["spec"]["platformSpec"])
    changed = make_config(storage=BUCKET, seed=1)
    compile_manifest(changed, pinned("8xh100"), tmp_path / "n.yaml", "training")
    _, other = yaml.safe_load_all((tmp_path / "n.yaml").read_text())
    assert other["metadata"]["name"] != version["metadata"]["name"]


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
        "update_on_nodes": "cpu",
        "commit": "cpu",
        "evaluate": "vllm",
        "promote": "cpu",
    }


def staged(num_turns: int, share: bool = True) -> Any:
    """Staged placement."""
    return make_config(
        rollout={"placement": "staged", "num_turns": num_turns}, update={"share_process": share}
    )
