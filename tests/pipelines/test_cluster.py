"""A pipeline on a cluster: submitted once, adopted if it is there, waited for, judged."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from components.config import ExperimentConfig
from pipelines.cluster import does_same, run_label
from pipelines.driver import Options, train
from pipelines.refusals import ApiUnavailable
from pipelines.runner import RunStopped, StepFailed
from tests.doubles.kfp_api import KfpApi, Posted
from tests.pipelines.experiment import make_config
from tests.pipelines.on_cluster import Commits, Place, cluster

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

FIRST = ("iteration", 1, {"iteration": 1, "promote": False})


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> ExperimentConfig:
    folder = tmp_path_factory.mktemp("store")
    return make_config(storage={"uri": f"file://{folder}"}, iterations=2)


def drive(place: Place, retries: int = 0, **options: Any) -> None:
    start = place.runner(**options)
    train(place.config, Options(place.run, retries=retries), start.display, start)


def names(api: KfpApi) -> list[str]:
    return [run.body["display_name"] for run in api.runs]


def test_one_run_per_iteration_until_all_are_done(config: ExperimentConfig, tmp_path: Path) -> None:
    with cluster(config, tmp_path, run="a") as place:
        drive(place)
        assert names(place.api) == ["a-preparation", "a-iteration-000001", "a-iteration-000002"]
        last = place.api.runs[-1]
        assert last.parameters == {"run": "a", "iteration": 2, "promote": True}
        assert f"{place.api.url}/#/runs/details/{last.body['run_id']}" in place.text
        drive(place)
        assert len(place.api.runs) == 3 and "nothing was run" in place.text


def test_pods_run_as_the_profiles_service_account(config: ExperimentConfig, tmp_path: Path) -> None:
    with cluster(config, tmp_path, Commits(config, hold="iteration")) as place:
        place.runner().begin(*FIRST)
        runner = place.runner()
        runner.profile = runner.profile.with_account("rolewise-runner")
        runner.begin("iteration", 2, {"iteration": 2, "promote": True})
        accounts = [run.body.get("service_account") for run in place.api.runs]
        assert accounts == [None, "rolewise-runner"]


def test_a_failed_run_is_repeated_as_often_as_asked(
    config: ExperimentConfig, tmp_path: Path
) -> None:
    execute = Commits(config, fail=["iteration-000001", "iteration-000001"])
    with cluster(config, tmp_path, execute, run="b") as place:
        with pytest.raises(StepFailed, match=r"b-iteration-000001: FAILED: load_state .*no luck"):
            drive(place, retries=0)
        drive(place, retries=1)
        assert names(place.api).count("b-iteration-000001") == 3


@pytest.mark.parametrize("state", ["CANCELED", "FAILED"])
def test_a_terminated_run_is_not_repeated(
    config: ExperimentConfig, tmp_path: Path, state: str
) -> None:
    execute = Commits(config, hold="preparation")
    with cluster(config, tmp_path, execute, stopped_state=state) as place:
        Thread(target=terminate_first, args=(place.api,)).start()
        with pytest.raises(RunStopped, match="terminated on the cluster .*submits it again"):
            drive(place, retries=5)
        assert names(place.api) == ["r-preparation"]


def test_success_without_a_result_is_no_success(config: ExperimentConfig, tmp_path: Path) -> None:
    with (
        cluster(config, tmp_path, Commits(config, commit=False)) as place,
        pytest.raises(StepFailed, match="SUCCEEDED .* its result is not in .* same storage"),
    ):
        drive(place)


def test_an_active_run_of_the_same_iteration_is_adopted(
    config: ExperimentConfig, tmp_path: Path
) -> None:
    execute = Commits(config, hold="iteration")
    with cluster(config, tmp_path, execute) as place:
        first, release = place.runner().begin(*FIRST), execute.release.set
        Thread(target=lambda: (wait_for(lambda: "adopted" in place.text), release())).start()
        place.runner()(*FIRST)
        assert [run.body["run_id"] for run in place.api.runs] == [first.id]
        assert "r-iteration-000001: already active on the cluster, adopted" in place.text


@pytest.mark.parametrize(
    "other", [{"run": "another"}, {"iteration": 2}, {"store": "file:///elsewhere"}]
)
def test_other_work_under_the_same_name_is_not_adopted(
    config: ExperimentConfig, tmp_path: Path, other: dict[str, Any]
) -> None:
    with cluster(config, tmp_path, Commits(config, hold="iteration")) as place:
        run = place.runner().begin(*FIRST)
        asked = {"run": "r", "iteration": 1} | {k: v for k, v in other.items() if k != "store"}
        assert does_same(run, {"run": "r", "iteration": 1}, config.storage.uri)
        assert not does_same(run, asked, other.get("store", config.storage.uri))


def test_of_two_drivers_at_the_same_time_the_later_withdraws(
    config: ExperimentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cluster(config, tmp_path, Commits(config, hold="iteration")) as place:
        late = place.runner()
        make = late.api.create

        def make_after_another(*arguments: Any) -> Any:
            place.runner().begin(*FIRST)
            return make(*arguments)

        monkeypatch.setattr(late.api, "create", make_after_another)
        run = late.begin(*FIRST)
        first, second = place.api.runs
        assert run.id == first.body["run_id"]
        wait_for(lambda: second.state == "CANCELED")
        assert first.state == "RUNNING" and "the later one withdrawn" in place.text


def test_a_run_that_is_still_ending_is_waited_for(config: ExperimentConfig, tmp_path: Path) -> None:
    with cluster(config, tmp_path, Commits(config, hold="iteration")) as place:
        run = place.runner().begin(*FIRST)
        posted = place.api.runs[0]
        posted.moves("CANCELING")
        threading.Timer(0.2, posted.stop.set).start()
        assert place.runner().begin(*FIRST).id != run.id
        assert posted.state == "CANCELED" and "still ending, waiting" in place.text


def test_a_lost_answer_makes_no_second_run(config: ExperimentConfig, tmp_path: Path) -> None:
    with cluster(config, tmp_path, Commits(config, hold="iteration"), lose_next=True) as place:
        place.runner(patience_s=5.0).begin(*FIRST)
        assert names(place.api) == ["r-iteration-000001"]


def test_an_api_that_rests_is_waited_for(config: ExperimentConfig, tmp_path: Path) -> None:
    execute = Commits(config, hold="iteration")
    with cluster(config, tmp_path, execute) as place:
        place.runner().begin(*FIRST)
        place.api.down = True
        with pytest.raises(ApiUnavailable, match="fails for now .503.: no healthy upstream"):
            place.runner()(*FIRST)
        threading.Timer(0.3, lambda: setattr(place.api, "down", False)).start()
        execute.release.set()
        place.runner(patience_s=10.0)(*FIRST)


def test_a_run_without_nodes_is_told(config: ExperimentConfig, tmp_path: Path) -> None:
    def never_starts(run: Posted) -> str:
        run.starts("root-driver")
        run.stop.wait(0.5)
        return "no node"

    with cluster(config, tmp_path, never_starts) as place:
        with pytest.raises(StepFailed, match="FAILED: root-driver: no node"):
            place.runner(slow_start_s=0.1)(*FIRST)
        words = "no task has started for 0 s; are there nodes, quota and images for the profile?"
        assert place.text.count(words) == 1


@pytest.mark.parametrize("terminate", [False, True])
def test_an_interrupt_leaves_or_ends_the_run(
    config: ExperimentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminate: bool
) -> None:
    with cluster(config, tmp_path, Commits(config, hold="iteration")) as place:
        monkeypatch.setattr("pipelines.cluster.time.sleep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            place.runner(terminate=terminate)(*FIRST)
        (run,) = place.api.runs
        assert run.stop.is_set() == terminate
        assert ("terminated: http" if terminate else "goes on on the cluster: http") in place.text


def test_names_say_what_is_made() -> None:
    assert run_label("r", "promotion", 3) == "r-promotion-000003"
    assert run_label("r", "preparation", 0) == "r-preparation"


def interrupt(_: float) -> None:
    raise KeyboardInterrupt


def terminate_first(api: KfpApi) -> None:
    wait_for(lambda: bool(api.runs))
    api.terminate(api.runs[0].body["run_id"])


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        threading.Event().wait(0.02)
