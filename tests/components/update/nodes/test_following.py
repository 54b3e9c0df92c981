"""The step and its TrainJob: created or adopted, followed, and taken along by every other end."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from components.cluster import ClusterError
from components.errors import RolewiseError, StorageError
from components.update.nodes import jobs
from components.update.nodes.order import Desk
from components.update.nodes.pod import NodePod
from tests.components.update.nodes.stage import OWNER, TRAINED, Stage, stage
from tests.doubles.kubernetes_api import Call, Event, Kind
from tests.doubles.kubernetes_rules import Refused
from tests.doubles.silence import hurry, silent_cluster, soon
from tests.doubles.trainer_controller import PODS, ROOT, condition, pod_name


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def refusing(cluster: Stage, verb: str, status: int, reason: str, words: str) -> None:
    def refuse(call: Call) -> Refused | None:
        hit = call.verb == verb and call.resource == "trainjobs"
        return Refused(status, reason, words) if hit else None

    cluster.api.refuse = refuse


def test_the_result_comes_back_and_progress_is_shown(
    cluster: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    step_pod(cluster, "step")
    look = Call("get", "trainjobs", "default", cluster.name)

    def nodes(event: Event, attempt: str) -> None:
        cluster.desk.report(attempt, "progress step=update-solo done=1 total=3 unit=steps")
        eventually(lambda: cluster.api.calls.count(look) > 2)
        cluster.succeed(event, attempt)

    cluster.nodes_do(nodes)
    assert cluster.train() == TRAINED
    assert "progress step=update-solo done=1 total=3 unit=steps" in capsys.readouterr().out
    (job,) = cluster.left  # its pods' logs can be read until the step's pod goes
    assert job["metadata"]["ownerReferences"] == [cluster.owner]
    assert cluster.store.list(cluster.desk.prefix) == [cluster.desk.prefix + "result.json"]
    cluster.api.delete(PODS, "step")
    assert cluster.left == []


def test_progress_that_cannot_be_read_ends_no_training(
    cluster: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Call("get", "trainjobs", "default", cluster.name)

    def away(self: Desk, attempt: str) -> None:
        raise StorageError("cannot be reached")

    def nodes(event: Event, attempt: str) -> None:
        eventually(lambda: cluster.api.calls.count(look) > 2)
        cluster.succeed(event, attempt)

    monkeypatch.setattr(Desk, "progress", away)
    cluster.nodes_do(nodes)
    assert cluster.train() == TRAINED


def test_a_failed_job_says_what_its_first_node_said(cluster: Stage) -> None:
    def nodes(event: Event, attempt: str) -> None:
        cluster.desk.fail(attempt, 1, "PolicyError: gradient norm is nan at step 2")
        cluster.desk.fail(attempt, 0, "RolewiseError: connection closed by peer")
        event.sets_status(condition("Failed", "FailedJobs", "jobset failed"))

    cluster.nodes_do(nodes)
    expected = (
        f"TrainJob {cluster.name} failed: node 1: PolicyError: gradient norm is nan at step 2"
    )
    with pytest.raises(RolewiseError, match=rf"{expected} \(FailedJobs: jobset failed\)"):
        cluster.train()
    assert cluster.left == []


def test_a_node_that_was_killed_is_told_by_its_pod_and_log(cluster: Stage) -> None:
    def nodes(event: Event, attempt: str) -> None:
        name = pod_name(event.name, 1)
        labels = {
            "jobset.sigs.k8s.io/jobset-name": event.name,
            "batch.kubernetes.io/job-completion-index": "1",
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}}
        cluster.api.create(PODS, pod)
        ended = {"exitCode": 137, "reason": "OOMKilled"}
        status = {"name": "node", "image": "", "imageID": "", "ready": False, "restartCount": 0}
        status |= {"state": {"terminated": ended}}
        place = next(place for place in cluster.api.objects if place.plural == "pods")
        cluster.api.set_status(place, {"phase": "Failed", "containerStatuses": [status]})
        cluster.api.logs[name] = "loading\n[rank8]: torch.OutOfMemoryError: CUDA out of memory\n"
        event.sets_status(condition("Failed", "FailedJobs", "jobset failed"))

    cluster.nodes_do(nodes)
    words = r"node 1 OOMKilled \(exit code 137\): OutOfMemoryError: CUDA out of memory"
    with pytest.raises(RolewiseError, match=words):
        cluster.train()


def test_time_is_over_and_the_obstacle_is_named(cluster: Stage) -> None:
    cluster.pod = NodePod("image", timeout_s=1)

    def nodes(event: Event, attempt: str) -> None:
        about = {"kind": "Job", "name": f"{event.name}-node-0", "namespace": "default"}
        words = 'pods "x" is forbidden: exceeded quota: gpus, requested: nvidia.com/gpu=8'
        warning = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Warning",
            "reason": "FailedCreate", "message": words, "involvedObject": about,
        }  # fmt: skip
        cluster.api.create(Kind("", "v1", "default", "events"), warning)

    cluster.nodes_do(nodes)
    with pytest.raises(RolewiseError, match="did not end within 1 s.*timeout_s.*exceeded quota"):
        cluster.train()
    assert cluster.left == []


def test_a_suspended_job_is_in_a_queue(cluster: Stage) -> None:
    cluster.pod = NodePod("image", timeout_s=1)
    cluster.nodes_do(
        lambda event, _: event.sets_status(condition("Suspended", "Suspended", "kueue"))
    )
    with pytest.raises(RolewiseError, match=r"no node ever ran: it is suspended, in a queue\?"):
        cluster.train()


@pytest.mark.parametrize(
    ("verb", "status", "words", "fix"),
    [
        ("create", 403, "exceeded quota: count/trainjobs.trainer=5", "raise the quota"),
        ("create", 403, 'User "runner" cannot create resource', "deploy/components/trainjobs"),
        ("create", 400, 'strict decoding error: unknown field "spec.runtimePatches"', "upgrade it"),
        (
            "create", 403, 'admission webhook "v" denied the request: TrainingRuntime '
            '"rolewise-deepspeed" not found', "apply images/deepspeed/runtime",
        ),
        (
            "get", 404, "the server could not find the requested resource",
            "install Kubeflow Trainer 2.3 or newer",
        ),
        ("create", 422, "metadata.name: must be", "create TrainJob default/rw-r-1-update-"),
    ],
)  # fmt: skip
def test_refusals_name_the_fix(
    cluster: Stage, verb: str, status: int, words: str, fix: str
) -> None:
    refusing(cluster, verb, status, "Refused", words)
    with pytest.raises(ClusterError) as caught:
        cluster.train()
    assert fix in str(caught.value) and words in str(caught.value)
    assert "\n" not in str(caught.value) and cluster.left == []


def test_the_role_of_deploy_is_enough(tmp_path: Path) -> None:
    path = ROOT / "deploy" / "components" / "trainjobs" / "role.yaml"
    role = next(iter(yaml.safe_load_all(path.read_text())))
    with stage(tmp_path, tokens={"runner": role["rules"]}) as cluster:
        with cluster.api.client("runner") as client:
            cluster.client = client
            step_pod(cluster, "step")
            event = cluster.old_job()
            with adopting(cluster, event):
                assert cluster.train() == TRAINED
            jobs = cluster.jobs()
            assert (jobs.num_running(cluster.name), jobs.words_of_events("x")) == (0, "")
            jobs.delete(cluster.name)
            cluster.desk.store.delete(cluster.desk.prefix + "result.json")
            cluster.nodes_do(cluster.succeed)
            assert cluster.train() == TRAINED
        verbs = {call.verb for call in cluster.api.calls if call.resource == "trainjobs"}
        assert verbs == {"get", "patch", "delete", "create"}


def eventually(holds: Callable[[], bool], timeout_s: float = 20.0) -> None:
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "the awaited call did not come"
        time.sleep(0.01)


def step_pod(cluster: Stage, name: str) -> None:
    """From now on the step runs in a pod of that name."""
    pod = cluster.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}})
    cluster.owner = {**OWNER, "name": name, "uid": pod["metadata"]["uid"]}


@contextmanager
def adopting(cluster: Stage, event: Event) -> Iterator[None]:
    """Nodes of an old job, which end well once the new step has taken the job over."""

    def nodes() -> None:
        taken = Call("patch", "trainjobs", "default", cluster.name)
        eventually(lambda: taken in cluster.api.calls)
        cluster.succeed(event, "old")

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(nodes)
        yield
        ended.result()


def test_the_job_of_a_step_that_died_is_adopted(cluster: Stage) -> None:
    step_pod(cluster, "step")
    event = cluster.old_job()
    step_pod(cluster, "next")
    with adopting(cluster, event):
        assert cluster.train() == TRAINED
    assert cluster.asked == []  # no second job
    cluster.api.delete(PODS, "step")
    assert [job["metadata"]["ownerReferences"] for job in cluster.left] == [[cluster.owner]]


def test_a_failed_job_of_a_step_that_died_is_made_again(cluster: Stage) -> None:
    event = cluster.old_job()
    event.sets_status(condition("Failed", "FailedJobs", "node lost"))
    cluster.desk.fail("old", 0, "gone")
    cluster.nodes_do(cluster.succeed)
    assert cluster.train() == TRAINED
    assert len(cluster.asked) == 1 and cluster.asked != ["old"]


def test_a_step_that_died_behind_the_goal_trains_nothing_again(cluster: Stage) -> None:
    cluster.old_job()
    cluster.desk.finish(TRAINED)
    assert cluster.train() == TRAINED
    assert cluster.left == [] and cluster.asked == []


def test_a_job_of_somebody_else_is_left_alone(cluster: Stage) -> None:
    event = cluster.old_job()
    item = {**event.item, "metadata": {"name": cluster.name}}
    cluster.api.delete(
        Kind("trainer.kubeflow.org", "v1alpha1", "default", "trainjobs"), cluster.name
    )
    cluster.api.create(Kind("trainer.kubeflow.org", "v1alpha1", "default", "trainjobs"), item)
    with pytest.raises(ClusterError, match="made by somebody else"):
        cluster.train()
    assert len(cluster.left) == 1


def test_a_deleted_job_is_said_to_be(cluster: Stage) -> None:
    kind = Kind("trainer.kubeflow.org", "v1alpha1", "default", "trainjobs")
    cluster.nodes_do(lambda event, _: bool(cluster.api.delete(kind, event.name)))  # type: ignore[arg-type, return-value]
    with pytest.raises(RolewiseError, match="was deleted by somebody while it ran"):
        cluster.train()


def test_an_api_that_is_away_is_waited_for_a_while(cluster: Stage) -> None:
    left = [3]

    def flaky(call: Call) -> Refused | None:
        left[0] -= 1
        return Refused(503, "ServiceUnavailable", "etcd leader changed") if left[0] >= 0 else None

    cluster.patience_s = 5.0
    cluster.api.refuse = flaky
    cluster.nodes_do(cluster.succeed)
    assert cluster.train() == TRAINED
    cluster.desk.store.delete(cluster.desk.prefix + "result.json")
    cluster.patience_s = 0.2
    cluster.api.refuse = lambda call: Refused(503, "ServiceUnavailable", "gone")
    with pytest.raises(ClusterError, match="503: gone"):
        cluster.train()


def test_an_api_that_is_silent_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch, jobs)
    with silent_cluster() as connection, soon(), pytest.raises(jobs.ClusterAway):
        jobs.TrainJobs(connection).get("rw-r-1-update")


def test_an_interrupt_takes_the_job_along(cluster: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from components.update.nodes import follow

    def interrupted(_: float) -> None:
        assert cluster.left
        raise KeyboardInterrupt

    monkeypatch.setattr(follow.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cluster.train()
    assert cluster.left == []
