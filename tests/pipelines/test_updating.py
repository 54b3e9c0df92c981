"""The update in a pipeline: one pod, or a step without a GPU that has several nodes do it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.errors import ConfigError
from components.update.nodes.pod import NodePod
from pipelines.compiling import compile
from pipelines.nodes import check_ranks, node_pod
from pipelines.profile import parse_profile
from pipelines.updating import GRACE_S
from tests.pipelines.experiment import BUCKET, IMAGES, make_config, pinned

NODES = {"num_nodes": 2, "num_processes": 8}


def compiled(tmp_path: Path, **update: Any) -> tuple[Any, Any]:
    """The spec, and what the cluster is told of each executor."""
    config = make_config(storage=BUCKET, update=update)
    path = tmp_path / "pipeline.yaml"
    spec = compile(config, pinned("8xh100"), path)
    platform = list(yaml.safe_load_all(path.read_text()))[1]
    return spec, platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]


def test_several_nodes_are_asked_for_by_a_step_without_a_gpu(tmp_path: Path) -> None:
    spec, executors = compiled(tmp_path, **NODES)
    tasks = spec["root"]["dag"]["tasks"]
    assert "update" not in tasks
    container = spec["deploymentSpec"]["executors"]["exec-update-on-nodes"]["container"]
    assert container["image"] == IMAGES["cpu"] and "accelerator" not in container["resources"]
    text = tasks["update-on-nodes"]["inputs"]["parameters"]["pod"]["runtimeValue"]["constant"]
    pod = NodePod.from_json(text)
    assert pod == node_pod(pinned("8xh100"))
    assert (pod.image, pod.accelerator, pod.num_accelerators) == (
        IMAGES["deepspeed"], "nvidia.com/gpu", 8,
    )  # fmt: skip
    assert pod.secrets and pod.shm == "64Gi" and pod.tolerations and pod.node_selector
    assert executors["exec-update-on-nodes"]["activeDeadlineSeconds"] == str(
        pod.timeout_s + GRACE_S
    )


def test_one_node_is_the_step_itself(tmp_path: Path) -> None:
    spec, _ = compiled(tmp_path, num_processes=8)
    assert "update" in spec["root"]["dag"]["tasks"]
    assert "pod" not in spec["root"]["dag"]["tasks"]["update"]["inputs"]["parameters"]


@pytest.mark.parametrize(
    ("update", "words"),
    [
        ({"num_processes": 9}, "update.num_processes is 9, but profile 8xh100 books 8 GPUs"),
        ({"num_nodes": 2, "num_processes": 4}, "fill a node first, with update.num_processes 8"),
    ],
)
def test_ranks_must_fit_the_gpus(tmp_path: Path, update: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        compiled(tmp_path, **update)


def test_cpus_take_any_number_of_ranks() -> None:
    profile = parse_profile("mine", {"images": {"deepspeed": "x"}, "trainjob": {"runtime": "ours"}})
    check_ranks(make_config(update={"num_nodes": 3, "num_processes": 2}), profile)
    assert node_pod(profile) == NodePod("x", "ours")
