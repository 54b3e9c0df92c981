"""Profiles: layers, names, keys; and that settings reach the compiled pipeline."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from kfp import compiler, dsl

from components import images
from components.errors import ConfigError
from pipelines.booking import booking
from pipelines.profile import load_profile, parse_profile

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


def test_cpu_profile_books_no_accelerator() -> None:
    profile = load_profile("cpu")
    assert all(profile.settings("any", name).accelerator is None for name in IMAGES)


def test_unknown_profile_lists_the_known() -> None:
    with pytest.raises(ConfigError, match="profile 'moon' is unknown; known: .*cpu"):
        load_profile("moon")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"image": {}}, "image: unknown key; known: defaults, images, name, runtimes, steps"),
        ({"defaults": {"cpus": "1"}}, "defaults.cpus: unknown key; known: accelerator, cpu, env"),
        ({"steps": {"update": {"gpu": 1}}}, "steps.update.gpu: unknown key; known: accelerator"),
        ({"defaults": {"accelerator": {"n": 1}}}, "accelerator.n: unknown key; known: count, type"),
        ({"defaults": {"memory": "lots"}}, "defaults.memory: String should match pattern"),
        ({"images": {"cpu": "x"}}, r"images are for \['cpu'\]; expected \['cpu', 'deepspeed'"),
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
    assert pod["secretAsEnv"][0]["keyToEnv"][0]["envVar"] == "AWS_ACCESS_KEY_ID"


def test_unknown_image_is_named() -> None:
    profile = parse_profile("p", {"images": IMAGES})

    @dsl.component(base_image="python:3.11", install_kfp_package=False)
    def other(config: str, run: str, iteration: int) -> None:
        """Nothing."""

    with pytest.raises(ConfigError, match="step 'other' has image 'python:3.11'"):

        @dsl.pipeline(name="p")
        def pipeline(run: str, iteration: int) -> None:
            booking(profile, "{}", run, iteration)(other)
