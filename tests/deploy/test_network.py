"""Network policies by their rules: who reaches what, by the labels that profiles give a step."""

from pathlib import Path

import pytest

from pipelines.booking import runtime_of
from pipelines.compiling import open_profile
from pipelines.steps import STEPS
from tests.deploy.reach import Peer, allowed
from tests.deploy.rendered import OVERLAYS, Manifest, of_kind, overlay, with_components

PROFILES = ("single-gpu", "8xh100")
PROGRAMS = {"rollout", "execute_turn", "evaluate", "evaluate_team"}
"""Steps that judge what a model wrote, and so run its programs."""
OTHERS = {
    "initialise", "warm_start", "commit_initial", "load_state", "open_turns", "sample_turn",
    "group", "update", "update_on_nodes", "commit", "promote",
}  # fmt: skip
NAMESPACE = {"laptop": "kubeflow", "8xh100": "rolewise"}
DNS = Peer({"k8s-app": "kube-dns"}, "kube-system")
API = Peer({"app": "ml-pipeline"}, "kubeflow")
METADATA = Peer({"component": "metadata-grpc-server"}, "kubeflow")
STORAGE = Peer({"app": "seaweedfs"}, "kubeflow")
OUTSIDE = Peer.outside("93.184.216.34")
KUBERNETES = {"laptop": Peer.outside("172.18.0.2"), "8xh100": Peer.outside("192.0.2.1")}


def policies(name: str) -> list[Manifest]:
    return list(of_kind(overlay(name), "NetworkPolicy").values())


def pod(step: str, name: str, profile: str = "8xh100") -> Peer:
    """A step's pod in an overlay's namespace."""
    runtime = "driver" if step == "train" else runtime_of(STEPS[step])
    labels = open_profile(profile).settings(step, runtime).labels
    return Peer({**labels, "pipelines.kubeflow.org/v2_component": "true"}, NAMESPACE[name])


def mlflow(name: str) -> Peer:
    return Peer({"app.kubernetes.io/name": "mlflow"}, NAMESPACE[name])


def test_every_step_is_on_one_side() -> None:
    assert set(STEPS) == PROGRAMS | OTHERS, "does the new step run programs of a model?"


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_label_what_runs_programs(profile: str) -> None:
    for step in STEPS:
        labels = open_profile(profile).settings(step, runtime_of(STEPS[step])).labels
        assert (labels.get("rolewise.dev/programs") == "true") == (step in PROGRAMS), step


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize("step", sorted(PROGRAMS))
def test_programs_reach_what_their_launcher_needs(name: str, step: str) -> None:
    rules, source = policies(name), pod(step, name)
    assert allowed(rules, source, DNS, 53, "UDP") and allowed(rules, source, DNS, 53)
    assert allowed(rules, source, API, 8887) and allowed(rules, source, METADATA, 8080)
    assert allowed(rules, source, STORAGE, 8333)
    assert allowed(rules, source, KUBERNETES[name], 6443)


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize("step", sorted(PROGRAMS))
def test_programs_reach_nothing_else(name: str, step: str) -> None:
    rules, source = policies(name), pod(step, name)
    neighbour = Peer({"app": "notebook"}, NAMESPACE[name])
    elsewhere = Peer({"app": "ml-pipeline"}, "other")
    assert not any(allowed(rules, source, OUTSIDE, port) for port in (22, 53, 80, 443, 8887))
    assert not any(allowed(rules, source, peer, 8887) for peer in (neighbour, elsewhere))
    assert not any(allowed(rules, source, API, port) for port in (8888, 8443))
    assert not any(allowed(rules, source, STORAGE, port) for port in (8111, 8888, 9333))
    assert not allowed(rules, source, Peer.outside("169.254.169.254"), 80)  # a cloud's metadata
    assert allowed(rules, source, mlflow(name), 5000) == (step == "evaluate")


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize("step", sorted(PROGRAMS))
def test_nobody_reaches_programs(name: str, step: str) -> None:
    target = pod(step, name)
    for source in (pod("commit", name), Peer({}, NAMESPACE[name]), API, OUTSIDE):
        assert not allowed(policies(name), source, target, 8000)


@pytest.mark.parametrize("name", OVERLAYS)
def test_other_steps_reach_mlflow_and_the_preparation_a_hub(name: str) -> None:
    rules = policies(name)
    for step in ("commit", "commit_initial", "promote"):
        assert allowed(rules, pod(step, name), mlflow(name), 5000)
    assert allowed(rules, pod("initialise", name), OUTSIDE, 443)
    assert allowed(rules, pod("train", name), API, 8888)
    assert not allowed(rules, Peer({}, "other"), mlflow(name), 5000)


@pytest.mark.parametrize("step", sorted(OTHERS - {"initialise"}))
def test_a_closed_namespace_cuts_off_every_pod_of_a_run(step: str) -> None:
    rules, source = policies("8xh100"), pod(step, "8xh100")
    assert allowed(rules, source, STORAGE, 8333) and not allowed(rules, source, OUTSIDE, 443)
    forgotten = Peer({"pipelines.kubeflow.org/v2_component": "true"}, "rolewise")
    assert not allowed(rules, forgotten, OUTSIDE, 443)
    assert not allowed(rules, pod("initialise", "8xh100"), Peer.outside("10.0.0.1"), 443)


def test_storage_outside_is_one_address_more(tmp_path: Path) -> None:
    manifests = with_components(tmp_path, "8xh100", ["external-storage"])
    rules = list(of_kind(manifests, "NetworkPolicy").values())
    there = Peer.outside("192.0.2.2")
    assert allowed(rules, pod("rollout", "8xh100"), there, 443)
    assert not allowed(policies("8xh100"), pod("rollout", "8xh100"), there, 443)
    assert not allowed(rules, pod("rollout", "8xh100"), OUTSIDE, 443)


def test_the_nodes_of_a_trainjob_reach_one_another_and_storage(tmp_path: Path) -> None:
    manifests = with_components(tmp_path, "8xh100", ["trainjobs", "external-storage"])
    rules = list(of_kind(manifests, "NetworkPolicy").values())
    runtime = of_kind(manifests, "TrainingRuntime")["rolewise-deepspeed"]
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    labels = job["template"]["spec"]["template"]["metadata"]["labels"]
    node = Peer(labels, runtime["metadata"]["namespace"])
    assert allowed(rules, node, node, 29500)
    assert allowed(rules, node, STORAGE, 8333) and allowed(rules, node, DNS, 53, "UDP")
    assert allowed(rules, node, Peer.outside("192.0.2.2"), 443)
    for other in (pod("update", "8xh100"), mlflow("8xh100"), OUTSIDE, KUBERNETES["8xh100"]):
        assert not allowed(rules, node, other, 443) and not allowed(rules, other, node, 29500)
    assert allowed(rules, pod("update_on_nodes", "8xh100"), KUBERNETES["8xh100"], 443)


def test_the_database_takes_mlflow_alone() -> None:
    rules, database = (
        policies("8xh100"),
        Peer({"app.kubernetes.io/name": "mlflow-database"}, "rolewise"),
    )
    assert allowed(rules, mlflow("8xh100"), database, 5432)
    assert not allowed(rules, pod("commit", "8xh100"), database, 5432)
    assert not allowed(rules, database, OUTSIDE, 443)


def test_steps_that_sample_reach_warm_servers_and_nobody_else_does(tmp_path: Path) -> None:
    manifests = with_components(tmp_path, "8xh100", ["warm-servers"])
    rules = list(of_kind(manifests, "NetworkPolicy").values())
    server = Peer({"rolewise.dev/server": "warm-r"}, "rolewise")
    for step in ("rollout", "evaluate_team", "sample_turn"):
        assert allowed(rules, pod(step, "8xh100"), server, 8000), step
        assert not allowed(rules, pod(step, "8xh100"), server, 22), step
    stranger = Peer({"app": "notebook"}, "rolewise")
    assert not allowed(rules, stranger, server, 8000)
    assert not allowed(rules, Peer({"app": "notebook"}, "kubeflow"), server, 8000)
