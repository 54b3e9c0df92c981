"""Whole trainings with warm servers: the same weights as without, on this machine and through the
stand-ins of Kubeflow and Kubernetes; and nothing is left of a driver that was killed."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from safetensors.numpy import load_file

from components.rollout.vllm_engine import probe
from components.state import latest_iteration
from components.storage import open_store
from tests.doubles.kfp_api import KfpApi, locally
from tests.doubles.kfp_api import serving as kubeflow
from tests.doubles.kubernetes_api import KubernetesApi
from tests.doubles.kubernetes_api import serving as kubernetes
from tests.doubles.kubernetes_processes import Processes
from tests.e2e.workplace import SCRATCH, Workplace, words_experiment
from tests.pipelines.warm.kept import role

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
WARM = "rollout.server={lease_s: 20, start_timeout_s: 900}"
TOLERANCE = 1e-6
"""Of weights of about 0.2 after two iterations: the same tokens, and log-probs that differ in the
last digit where a server's batch was cut otherwise. One other token would move weights by 1e-3."""
ADAPTED = {**SCRATCH, "lora": {"r": 4, "alpha": 8}}


def make_place(folder: Path, policies: Mapping[str, Any]) -> Workplace:
    """Two iterations of two roles, played by vLLM."""
    probe()
    folder.mkdir(exist_ok=True)
    content = words_experiment({"first": "left", "second": "right"}, policies, iterations=2)
    content["rollout"]["engine"] = "vllm"
    content["evaluation"] |= {"every": 2, "test": False}
    place = Workplace(folder)
    place.write(content)
    return place


@pytest.fixture(scope="module", params=["full weights", "adapters"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """With a run `cold` that opened vLLM in every step."""
    policy = ADAPTED if request.param == "adapters" else SCRATCH
    folder = tmp_path_factory.mktemp("warm")
    made = make_place(folder, {"left": policy, "right": policy})
    run(made, "run", "--name", "cold", "--runner", "inprocess")
    return made


def run(place: Workplace, *words: str, **environment: str) -> str:
    """The command to its end, which must be a good one; what it printed."""
    done = subprocess.run(
        place.command(*words), capture_output=True, text=True, timeout=3000,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_local_run_with_warm_servers_ends_with_the_same_weights(place: Workplace) -> None:
    told = run(place, "run", "--name", "warm", "--runner", "inprocess", "--set", WARM)
    assert difference(place, "warm") <= TOLERANCE
    assert "taken down" in told and not servers_of("warm")


def difference(place: Workplace, name: str) -> float:
    """Largest difference of any weight to that of the run `cold`."""
    store, found = open_store(place.config.storage), []
    for policy, ref in place.state(name, 2).policies.items():
        refs = ref, place.state("cold", 2).policies[policy]
        folders = [store.download_folder(each.folder, place.folder / "cache") for each in refs]
        for file in folders[0].glob("*.safetensors"):
            ours, theirs = load_file(str(file)), load_file(str(folders[1] / file.name))
            found += [float(abs(ours[key] - theirs[key]).max()) for key in ours]
    assert found
    return max(found)


def servers_of(run: str) -> list[int]:
    """Ids of processes that serve a run."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "components.rollout.warm" in words and f"--run={run}" in words:
            found.append(process.pid)
    return found


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[KfpApi, KubernetesApi, Processes, dict[str, str]]]:
    """Both stand-ins, with the rights that ship, and what the driver's environment must hold."""
    (folder / "runs").mkdir(exist_ok=True)
    tokens: dict[str, Any] = {
        "driver": role("rolewise-warm-servers"), "server": role("rolewise-server"),
    }  # fmt: skip
    with kubernetes(tokens=tokens) as api, kubeflow(locally(folder / "runs")) as kfp:
        account = api.pod_account(folder / "account", "server", "team")
        arguments = (f"--kubernetes-api={api.url}", f"--account={account}")
        environment = {"OMP_NUM_THREADS": "1"}
        processes = Processes(api, folder, environment, arguments).attach()
        config = api.kubeconfig(folder / "kubeconfig", "driver", "team")
        yield kfp, api, processes, {"KUBECONFIG": str(config)}


def submit_words(kfp: KfpApi, name: str) -> tuple[str, ...]:
    access = ("--endpoint", kfp.url, "--experiment", "words", "--profile", "cpu")
    return ("submit", *access, "--name", name, "--wait", "--set", WARM)


def test_a_submitted_run_with_deployments_ends_with_the_same_weights(place: Workplace) -> None:
    with cluster(place.folder) as (kfp, api, processes, environment):
        told = run(place, *submit_words(kfp, "submitted"), **environment)
        assert difference(place, "submitted") <= TOLERANCE
        assert "taken down" in told
        assert not api.find("deployments") and not api.find("services")
        await_end(lambda: not servers_of("submitted"), 60.0)
        logs = "".join(path.read_text() for path in place.folder.glob("warm-*.log"))
        assert "ready" in logs


def test_nothing_is_left_of_a_driver_that_is_killed_and_the_next_one_goes_on(
    tmp_path: Path,
) -> None:
    place = make_place(tmp_path, {"left": SCRATCH, "right": SCRATCH})
    with cluster(tmp_path) as (kfp, api, processes, environment):
        command = place.command(*submit_words(kfp, "killed"))
        driver = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        await_end(lambda: kfp.named("iteration-000001"), 1200.0)
        assert len(servers_of("killed")) == 2
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        await_end(lambda: not api.find("deployments"), 120.0)
        await_end(lambda: not servers_of("killed"), 60.0)
        assert not api.find("services")
        run(place, *submit_words(kfp, "killed"), **environment)
        assert latest_iteration(open_store(place.config.storage), "killed") == 2
        await_end(lambda: not servers_of("killed"), 60.0)


def await_end(holds: Callable[[], Any], timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "the awaited did not come"
        time.sleep(0.2)
