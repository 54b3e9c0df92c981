"""Why a run on a cluster failed or waits: from its pods' logs and Argo's words, with the fix."""

from collections.abc import Callable
from pathlib import Path

import pytest

from components.config import ExperimentConfig
from pipelines.faults import fault, hint_of
from pipelines.runner import StepFailed
from pipelines.workflow import last_attempts, pods
from tests.doubles.kfp_api import Posted
from tests.pipelines.experiment import make_config
from tests.pipelines.on_cluster import Place, cluster
from tests.pipelines.test_cluster import FIRST, wait_for

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

PULL = 'ImagePullBackOff: Back-off pulling image "registry.example/rolewise/vllm@sha256:0"'
QUOTA = (
    'pods "p" is forbidden: exceeded quota: teams, requested: requests.nvidia.com/gpu=8, '
    "used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=4"
)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> ExperimentConfig:
    return make_config(storage={"uri": f"file://{tmp_path_factory.mktemp('store')}"}, iterations=2)


def failing(message: str, *printed: str, task: str = "rollout") -> Callable[[Posted], str]:
    """A run whose second task prints and ends with Argo's message."""

    def execute(run: Posted) -> str:
        run.starts("load-state")
        run.starts(task)
        for line in printed:
            run.prints(line)
        return message

    return execute


@pytest.mark.parametrize(
    ("message", "printed", "words"),
    [
        (
            "main: Error (exit code 1)",
            ["[KFP Executor] Looking", "    error: rollout (run r, iteration 1): no model", "x"],
            "rollout (run r, iteration 1): no model",
        ),
        (
            "main: Error (exit code 1)",
            ["Traceback (most recent call last):", "ValueError: odd", ""],
            "rollout: main: Error (exit code 1); its log ends: ValueError: odd",
        ),
        (
            "OOMKilled (exit code 137)",
            ["loading"],
            "rollout: OOMKilled (exit code 137); raise memory of steps.rollout in the profile",
        ),
        (
            "Pod was active on the node longer than the specified deadline",
            [],
            "specified deadline; raise timeout_s of steps.rollout in the profile",
        ),
        (PULL, [], f"rollout: {PULL}; give an image that the registry has by --images or --set-im"),
        (
            QUOTA,
            [],
            "raise the namespace's quota, wait until others end, or book less for steps.ro",
        ),
        ("unheard of", [], "FAILED: rollout: unheard of (http://"),
    ],
)
def test_a_failure_is_told_with_its_fix(
    config: ExperimentConfig, tmp_path: Path, message: str, printed: list[str], words: str
) -> None:
    with cluster(config, tmp_path, failing(message, *printed)) as place:
        with pytest.raises(StepFailed) as raised:
            place.runner()(*FIRST)
        assert words in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ("Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "no node has"),
        ('pods "p" is forbidden: error looking up service account teams/x: serviceaccount "x" not '
         "found", "create the service account"),
        ('CreateContainerConfigError: secret "rolewise-storage" not found', "create the secret"),
        ("The node was low on resource: memory. Evicted", "--retries repeats it"),
    ],
)  # fmt: skip
def test_words_of_kubernetes_have_a_fix(message: str, fix: str) -> None:
    hint = hint_of(message)
    assert hint and fix in hint.fix


def test_an_api_without_the_old_calls_says_so(config: ExperimentConfig, tmp_path: Path) -> None:
    with (
        cluster(config, tmp_path, failing("x"), tells=False) as place,
        pytest.raises(StepFailed, match="the API gives no reason .*not found: .*page has the step"),
    ):
        place.runner()(*FIRST)


@pytest.mark.parametrize("message", [PULL, QUOTA])
def test_a_step_that_waits_is_told_once(
    config: ExperimentConfig, tmp_path: Path, message: str
) -> None:
    def waits(run: Posted) -> str:
        run.waits("sample-turn-2", message)
        run.stop.wait(5)
        return message

    with cluster(config, tmp_path, waits) as place:
        stop_when_said(place, "sample-turn-2 waits")
        with pytest.raises(StepFailed):
            place.runner(look_s=0.05)(*FIRST)
        line = f"r-iteration-000001: sample-turn-2 waits: {message}; "
        assert place.text.count(line) == 1
        assert ("steps.sample_turn" in place.text) == (message == QUOTA)


def test_a_retried_attempt_is_not_the_fault(config: ExperimentConfig, tmp_path: Path) -> None:
    def execute(run: Posted) -> str:
        run.starts("update")
        run.nodes[-1] |= {"name": f"{run.workflow_name}.root.update.executor(0)", "phase": "Failed"}
        run.starts("update")
        run.nodes[-1] |= {"name": f"{run.workflow_name}.root.update.executor(1)"}
        run.starts("commit")
        return "commit (run r, iteration 1): no luck"

    with cluster(config, tmp_path, execute) as place:
        run = place.runner().begin(*FIRST)
        wait_for(lambda: place.api.runs[0].state == "FAILED")
        runner = place.runner()
        assert fault(runner.api, runner.api.get(run.id)) == "commit (run r, iteration 1): no luck"
        last = last_attempts(pods(runner.api.workflow(run.id)))
        assert {step: pod.phase for step, pod in last.items()} == {
            "update": "Succeeded", "commit": "Failed",
        }  # fmt: skip


def test_pods_are_named_as_argo_names_them() -> None:
    node = {"id": "wf-123", "type": "Pod", "name": "wf.root.turns.sample-turn.executor(0)",
            "templateName": "retry-system-container-impl"}  # fmt: skip
    workflow = {"metadata": {"name": "wf"}, "status": {"nodes": {"a": node, "b": {"type": "DAG"}}}}
    (pod,) = pods(workflow)
    assert (pod.step, pod.name) == ("sample-turn", "wf-retry-system-container-impl-123")
    workflow["metadata"]["annotations"] = {"workflows.argoproj.io/pod-name-format": "v1"}
    assert pods(workflow)[0].name == "wf-123"
    assert pods({}) == []


def stop_when_said(place: Place, words: str) -> None:
    """End the first run as soon as the driver has printed `words`."""
    import threading

    def wait() -> None:
        wait_for(lambda: words in place.text)
        place.api.runs[0].stop.set()

    threading.Thread(target=wait, daemon=True).start()
