"""The posted TrainJob: Trainer's own schema takes it, and it says what the profile books."""

from typing import Any

import pytest
import yaml

from components.errors import ConfigError
from components.update.nodes.pod import NodePod
from components.update.nodes.trainjob import job_name, label, train_job
from tests.doubles.trainer_controller import ROOT, faults

POD = NodePod(
    image="registry.example/deepspeed@sha256:00",
    cpu="64",
    memory="768Gi",
    accelerator="nvidia.com/gpu",
    num_accelerators=8,
    env={"OMP_NUM_THREADS": "8"},
    secrets={"storage": {"key": "AWS_SECRET_ACCESS_KEY"}},
    optional_secrets={"hub": {"token": "HF_TOKEN"}},
    node_selector={"gpu": "h100"},
    tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}],
    shm="64Gi",
    image_pull_secrets=["pull"],
    labels={"kueue.x-k8s.io/queue-name": "gpus", "team": "a"},
    timeout_s=3600,
)
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "step", "uid": "u1"}


def made(pod: NodePod, owner: Any = OWNER) -> dict[str, Any]:
    labels = {"rolewise.dev/run": "my run"}
    return train_job("rw-r-1-update-0", pod, 2, 8, ["--order", "k"], labels, "a1", owner)


def test_all_that_a_profile_books_reaches_the_nodes() -> None:
    job = made(POD)
    assert faults("trainjobs", job) == []
    trainer, spec = job["spec"]["trainer"], job["spec"]
    assert (trainer["numNodes"], trainer["numProcPerNode"]) == (2, 8)
    booked = {"cpu": "64", "memory": "768Gi", "nvidia.com/gpu": "8"}
    assert trainer["resourcesPerNode"] == {"limits": booked, "requests": booked}
    secrets = {item["name"]: item.get("valueFrom") for item in trainer["env"]}
    assert secrets["OMP_NUM_THREADS"] is None
    assert secrets["AWS_SECRET_ACCESS_KEY"] == {"secretKeyRef": {"name": "storage", "key": "key"}}
    assert secrets["HF_TOKEN"]["secretKeyRef"]["optional"] is True
    (patch,) = spec["runtimePatches"]
    (nodes,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = nodes["template"]["spec"]["template"]
    assert pod["metadata"]["labels"] == {"team": "a"}  # a queue takes the job, not its pods
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpus"
    assert pod["spec"]["volumes"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}
    assert pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] == "/dev/shm"
    assert pod["spec"]["nodeSelector"] == {"gpu": "h100"} and pod["spec"]["tolerations"]
    assert spec["activeDeadlineSeconds"] == 3600
    assert job["metadata"]["ownerReferences"] == [OWNER]
    assert job["metadata"]["labels"]["rolewise.dev/run"] == "my-run"


def test_a_bare_pod_makes_a_job_without_patches() -> None:
    job = made(NodePod("image"), None)
    assert faults("trainjobs", job) == []
    assert "runtimePatches" not in job["spec"] and "ownerReferences" not in job["metadata"]
    assert "resourcesPerNode" not in job["spec"]["trainer"]


def test_the_schema_finds_faults() -> None:
    job = made(POD)
    job["spec"]["trainer"]["numNodes"] = "2"
    job["spec"]["podTemplateOverrides"] = []
    found = " ".join(faults("trainjobs", job))
    assert "'2' is not of type 'integer'" in found and "podTemplateOverrides" in found


@pytest.mark.parametrize("run", ["quickstart-fa64ed1b", "A_b.C", "x" * 100, "1"])
def test_names_are_labels_that_leave_room_for_pods(run: str) -> None:
    name = job_name(run, 123456, "update-a_policy", "ab" * 32)
    assert name[0] == "r" and name.replace("-", "").isalnum() and name == name.lower()
    assert len(f"{name}-node-0-999-abcde") <= 63
    assert name != job_name(run, 123456, "update-a_policy", "cd" * 32)


def test_labels_are_cut_to_what_kubernetes_takes() -> None:
    assert label("a b/c") == "a-b-c" and len(label("x" * 99)) == 63 and label("_a_") == "a"


def test_a_pod_comes_back_from_its_json() -> None:
    assert NodePod.from_json(POD.to_json()) == POD
    assert NodePod("i").to_json() == '{"image":"i"}'
    with pytest.raises(ConfigError, match="pod settings of the update's nodes: .*tyop"):
        NodePod.from_json('{"image": "i", "tyop": 1}')


def test_the_runtime_fits_its_schema_and_the_job() -> None:
    folder = ROOT / "images" / "deepspeed" / "runtime"
    runtime = yaml.safe_load((folder / "runtime.yaml").read_text())
    assert faults("trainingruntimes", runtime) == []
    assert (runtime["kind"], runtime["metadata"]["name"]) == (
        NodePod("i").runtime_kind, NodePod("i").runtime,
    )  # fmt: skip
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    assert job["name"] == "node" and job["template"]["spec"]["backoffLimit"] == 0
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "node"  # where Trainer puts command, image and PET_ variables
