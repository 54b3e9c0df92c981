"""Profiles: layers, names, keys; and that settings reach the compiled pipeline."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from kfp import compiler, dsl

from components import images
from components.errors import ConfigError
from pipelines.booking import booking, runtime_of
from pipelines.compiling import open_profile
from pipelines.profile import load_profile, parse_profile
from pipelines.steps import STEPS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

IMAGES = {"cpu": "r/cpu@sha256:1", "vllm": "r/vllm@sha256:2", "deepspeed": "r/ds@sha256:3"}


def test_most_specific_value_wins() -> None:
    content = {
        "images": IMAGES,
        "defaults": {"cpu": "1", "memory": "2Gi"},
        "runtimes": {"vllm": {"cpu": "4"}},
        "steps": {"evaluate": {"memory": "64Gi"}},
    }
    settings = parse_profile("p", content).settings("evaluate", "vllm")
    assert (settings.cpu, settings.memory) == ("4", "64Gi")
    assert parse_profile("p", content).settings("group", "cpu").cpu == "1"


def test_env_and_labels_are_added_up_and_all_else_is_replaced() -> None:
    content = {
        "defaults": {
            "env": {"A": "1", "B": "1"}, "labels": {"queue": "q"}, "node_selector": {"pool": "cpu"},
        },
        "runtimes": {"vllm": {"env": {"B": "2"}, "secrets": {"s": {"k": "V"}}}},
        "steps": {
            "rollout": {"env": {"C": "3"}, "labels": {"programs": "true"}, "node_selector": {}},
            "evaluate": {"labels": {"queue": "fast"}, "secrets": {"t": {"k": "W"}}},
        },
    }  # fmt: skip
    profile = parse_profile("p", content)
    rollout = profile.settings("rollout", "vllm")
    assert rollout.env == {"A": "1", "B": "2", "C": "3"}
    assert rollout.labels == {"queue": "q", "programs": "true"} and rollout.node_selector == {}
    evaluate = profile.settings("evaluate", "vllm")
    assert evaluate.labels == {"queue": "fast"} and list(evaluate.secrets) == ["t"]
    assert profile.settings("group", "cpu").labels == {"queue": "q"}


def test_a_service_account_is_of_the_profile_or_given() -> None:
    profile = parse_profile("p", {"service_account": "rolewise-runner"})
    assert profile.with_account(None).service_account == "rolewise-runner"
    assert profile.with_account("other").service_account == "other"
    with pytest.raises(
        ConfigError, match="--service-account 'My SA': expected a name such as role"
    ):
        profile.with_account("My SA")
    with pytest.raises(ConfigError, match="profile p: service_account: String should match"):
        parse_profile("p", {"service_account": ""})


def test_cpu_profile_books_no_accelerator() -> None:
    profile = load_profile("cpu")
    assert all(profile.settings("any", name).accelerator is None for name in IMAGES)


def test_unknown_profile_lists_the_known() -> None:
    with pytest.raises(ConfigError, match="'moon' is unknown; known: 8xh100, cpu, single-gpu, or"):
        load_profile("moon")


def test_a_profile_can_be_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text("defaults: {memory: 3Gi}\n")
    profile = load_profile(str(tmp_path / "ours.yaml"))
    assert (profile.name, profile.settings("group", "cpu").memory) == ("ours", "3Gi")
    with pytest.raises(ConfigError, match="none.yaml' cannot be read: No such file"):
        load_profile("none.yaml")
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(ConfigError, match="bad.yaml': not YAML"):
        load_profile(str(tmp_path / "bad.yaml"))


@pytest.mark.parametrize("name", ["single-gpu", "8xh100"])
def test_profiles_for_clusters_bound_every_step(name: str) -> None:
    profile = open_profile(name)
    assert profile.pinned and not profile.images
    for step, component in STEPS.items():
        settings = profile.settings(step, runtime_of(component))
        assert settings.timeout_s and settings.memory and settings.retries
        assert bool(settings.accelerator) == bool(settings.shm)
        assert list(settings.secrets) == ["rolewise-storage"]
        gpu = runtime_of(component) != "cpu" and step != "initialise"
        assert bool(settings.accelerator) == gpu == bool(settings.tolerations)
    assert profile.settings("train", "driver").accelerator is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"image": {}}, "image: unknown key; known: defaults, images, name, pinned, runtimes, se"),
        ({"defaults": {"cpus": "1"}}, "defaults.cpus: unknown key; known: accelerator, cpu, env"),
        ({"steps": {"update": {"gpu": 1}}}, "steps.update.gpu: unknown key; known: accelerator"),
        (
            {"defaults": {"accelerator": {"n": 1}}},
            "accelerator.n: unknown key; known: count, memory_gib, pea",
        ),
        ({"defaults": {"memory": "lots"}}, "defaults.memory: String should match pattern"),
        ({"images": {"tpu": "x"}}, r"images has \['tpu'\]; known: \['cpu', 'deepspeed', 'driver'"),
        ({"runtimes": {"tpu": {}}}, r"runtimes has \['tpu'\]; known: \['cpu'"),
        ({"steps": {"dance": {}}}, r"steps \['dance'\] are unknown; known: \['group'\]"),
    ],
)
def test_faults_are_named(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_profile("p", {"images": IMAGES} | content, {"group": None})


@dsl.component(base_image=images.VLLM, install_kfp_package=False)
def step(config: str, run: str, iteration: int) -> None:
    """Nothing."""


def test_settings_reach_the_pipeline(tmp_path: Path) -> None:
    settings = {
        "cpu": "8", "memory": "32Gi", "accelerator": {"type": "nvidia.com/gpu", "count": 2},
        "retries": 3, "timeout_s": 600, "node_selector": {"pool": "gpu"}, "shm": "8Gi",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "env": {"OMP_NUM_THREADS": "1"}, "secrets": {"s3": {"key": "AWS_ACCESS_KEY_ID"}},
        "optional_secrets": {"hub": {"token": "HF_TOKEN"}}, "image_pull_secrets": ["registry"],
        "labels": {"kueue.x-k8s.io/queue-name": "gpus"},
    }  # fmt: skip
    profile = parse_profile("p", {"images": IMAGES, "runtimes": {"vllm": settings}})

    @dsl.pipeline(name="booked")
    def pipeline(run: str, iteration: int) -> None:
        booking(profile, "{}", run, iteration)(step)

    compiler.Compiler().compile(pipeline, str(tmp_path / "p.yaml"))
    spec, platform = yaml.safe_load_all((tmp_path / "p.yaml").read_text())
    container = spec["deploymentSpec"]["executors"]["exec-step"]["container"]
    assert container["image"] == "r/vllm@sha256:2"
    resources = container["resources"]
    assert resources["resourceCpuLimit"] == resources["resourceCpuRequest"] == "8"
    assert resources["resourceMemoryLimit"] == "32Gi"
    assert resources["accelerator"]["resourceCount"] == "2"
    assert container["env"] == [{"name": "OMP_NUM_THREADS", "value": "1"}]
    task = spec["root"]["dag"]["tasks"]["step"]
    assert task["cachingOptions"] == {}
    assert task["retryPolicy"]["maxRetryCount"] == 3
    pod = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-step"]
    assert pod["nodeSelector"]["labels"] == {"pool": "gpu"}
    assert pod["tolerations"][0]["key"] == "nvidia.com/gpu"
    assert pod["emptyDirMounts"][0]["mountPath"] == "/dev/shm"
    assert pod["activeDeadlineSeconds"] == "600"
    needed, optional = pod["secretAsEnv"]
    assert needed["keyToEnv"][0]["envVar"] == "AWS_ACCESS_KEY_ID" and not needed.get("optional")
    assert (optional["secretName"], optional["optional"]) == ("hub", True)
    assert pod["imagePullSecret"][0]["secretName"] == "registry"
    assert pod["podMetadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "gpus"}


def test_unknown_image_is_named() -> None:
    profile = parse_profile("p", {"images": IMAGES})

    @dsl.component(base_image="python:3.11", install_kfp_package=False)
    def other(config: str, run: str, iteration: int) -> None:
        """Nothing."""

    with pytest.raises(ConfigError, match="step 'other' has image 'python:3.11'"):

        @dsl.pipeline(name="p")
        def pipeline(run: str, iteration: int) -> None:
            booking(profile, "{}", run, iteration)(other)
