"""Two nodes that share no disk train what one process trains: real torchrun, gloo, DeepSpeed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from components.errors import RolewiseError
from components.update.nodes.pod import NodePod
from tests.components.update.nodes.stage import RUNTIME
from tests.components.update.nodes.test_following import eventually
from tests.components.update.tiny import make_rows
from tests.components.update.world import World
from tests.doubles.kubernetes_api import KubernetesApi, serving
from tests.doubles.trainer_controller import ROOT, Trainer

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
ROLES = {"tool": "whole", "planner": "adapted"}
POD = NodePod("rolewise/deepspeed:0.1.0", timeout_s=900, env={"OMP_NUM_THREADS": "1"})


@pytest.fixture
def cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[KubernetesApi, Trainer]]:
    """A stand-in that kubeconfig names, with Trainer and our runtime."""
    with serving() as api:
        trainer = Trainer(api, tmp_path / "machines")
        trainer.add_runtime(RUNTIME)
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path / "kubeconfig")))
        yield api, trainer
    assert trainer.faults == [] and trainer.processes == []


def world(path: Path, folder: Path, adapter: Path, **update_: Any) -> World:
    path.mkdir()
    settings = {"adam_eps": 1e-3, "tokens_per_microbatch": 40, "weight_decay": 0.0, **update_}
    made = World(path, folder, ROLES, {"adapted": adapter}, **settings)
    made.samples(rows(made, folder))
    return made


def rows(made: World, folder: Path, seed: int = 0) -> list[Any]:
    """Samples of both policies; an adapter that was just made plays as its base."""
    whole = make_rows(folder, 3, policy="whole", version=made.refs["whole"].tag, seed=seed)
    return whole + make_rows(
        folder, 3, policy="adapted", role="planner", version=made.refs["adapted"].tag, seed=seed + 7
    )


def two_iterations(made: World, folder: Path) -> list[dict[str, Any]]:
    """The weights after each of two iterations; the second goes on with the optimiser's state."""
    weights = []
    for iteration in (1, 2):
        made.run(iteration)
        made.refs, optimizers = made.result()
        made.state(iteration, optimizers)
        made.samples(rows(made, folder, seed=iteration))
        files = {"whole": "model.safetensors", "adapted": "adapter_model.safetensors"}
        weights.append(
            {
                f"{name}.{key}": value
                for name, file in files.items()
                for key, value in load_file(
                    made.store.download_folder(made.refs[name].folder, made.path / "c") / file
                ).items()
            }
        )
    return weights


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_two_nodes_train_what_one_process_trains(
    stage: int, cluster: tuple[KubernetesApi, Trainer], folder: Path, adapter: Path, tmp_path: Path
) -> None:
    alone = world(tmp_path / "alone", folder, adapter, zero_stage=stage, max_logprob_mismatch=99.0)
    nodes = world(
        tmp_path / "nodes",
        folder,
        adapter,
        zero_stage=stage,
        max_logprob_mismatch=99.0,
        num_nodes=2,
    )
    storage = nodes.config.storage.model_copy(update={"cache": "cache"})  # each node's own
    nodes.config, nodes.pod = nodes.config.model_copy(update={"storage": storage}), POD.to_json()
    expected, found = two_iterations(alone, folder), two_iterations(nodes, folder)
    for one, two in zip(expected, found, strict=True):
        assert set(one) == set(two) and one
        for name, value in one.items():
            assert (value - two[name]).abs().max() < 1e-5, name
    moved = [float((expected[0][name] - expected[1][name]).abs().max()) for name in expected[0]]
    assert max(moved) > 1e-3
    api, _ = cluster
    assert len(api.find("trainjobs")) == 2
    states = sorted((tmp_path / "nodes" / "store" / "optimizers").iterdir())
    assert len(states) == 4  # of two policies, after two iterations, whole


def test_a_rank_that_fails_on_the_second_node_is_told(
    cluster: tuple[KubernetesApi, Trainer], folder: Path, adapter: Path, tmp_path: Path
) -> None:
    made = world(tmp_path / "nodes", folder, adapter, num_nodes=2)
    made.pod = POD.to_json()
    good = make_rows(folder, 3, policy="whole", version="whole@9-000000000000")
    made.samples(good)
    with pytest.raises(RolewiseError, match="node [01]: RolewiseError: policy whole: .*'whole@9-0"):
        made.run()
    api, trainer = cluster
    assert api.find("trainjobs") == []
    eventually(lambda: not trainer.processes)


def test_a_step_that_is_stopped_takes_its_nodes_along(
    cluster: tuple[KubernetesApi, Trainer], folder: Path, adapter: Path, tmp_path: Path
) -> None:
    made = world(tmp_path / "nodes", folder, adapter, num_nodes=2, epochs=2000)
    step = start_step(made)
    api, trainer = cluster
    eventually(lambda: len(trainer.processes) >= 4 and ranks(trainer) == 2, 120.0)
    step.send_signal(signal.SIGTERM)
    assert step.wait(30) == 128 + signal.SIGTERM
    assert api.find("trainjobs") == []
    eventually(lambda: not trainer.processes, 60.0)


def test_a_step_that_was_killed_is_followed_by_one_that_adopts(
    cluster: tuple[KubernetesApi, Trainer], folder: Path, adapter: Path, tmp_path: Path
) -> None:
    made = world(tmp_path / "nodes", folder, adapter, num_nodes=2)
    step = start_step(made)
    api, trainer = cluster
    eventually(lambda: len(trainer.processes) >= 2, 120.0)
    step.kill()
    step.wait(30)
    assert len(api.find("trainjobs")) == 1
    made.pod = POD.to_json()
    found = made.run()
    assert found["update/whole/num_steps"] > 0
    uids = {
        event.item["metadata"]["uid"] for event in api.events if event.place.plural == "trainjobs"
    }
    assert len(uids) == 1


def ranks(trainer: Trainer) -> int:
    lines = [" ".join(process.cmdline()) for process in trainer.processes]
    return sum(
        "components.update.process" in line and "torch.distributed" not in line for line in lines
    )


def start_step(made: World) -> "subprocess.Popen[bytes]":
    """The step in a process of its own."""
    script = (
        "import sys, json; from components.update.main import update; "
        "update(*json.loads(sys.argv[1]))"
    )
    made.pod = replace(POD).to_json()
    arguments = [made.config.to_json(), "r", 1, made.inputs, made.outputs, [], made.pod]
    import json

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, json.dumps(arguments)]
    return subprocess.Popen(command, env=environment)
