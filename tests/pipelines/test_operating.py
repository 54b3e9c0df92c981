"""`status`, `stop` and `logs`, as they are typed: of runs here and on a cluster."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import OPEN_ENDED, ExperimentConfig, load_config
from components.state import register_run, write_state
from components.storage import open_store
from pipelines.__main__ import main
from pipelines.logbook import Steps, is_step
from pipelines.presence import announced, last_driver
from pipelines.runner import STEP_MARK, StepFailed, log_path
from tests.doubles.kfp_api import KfpApi, Posted, serving
from tests.pipelines.experiment import POLICY
from tests.pipelines.on_cluster import Commits, Place
from tests.pipelines.test_cluster import FIRST, wait_for
from tests.pipelines.test_driver import make_state, write_verdict

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
ROOT = Path(__file__).parents[2]
DRIVES = """
import sys, time
from pipelines.presence import announced
with announced("r", {uri!r}, 2):
    print("driving", flush=True)
    time.sleep(60)
"""


class Desk:
    """A store with run `r` of two iterations, and the command line."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capture, self.uri = folder, capture, f"file://{folder}/store"
        content = {
            "name": "wired", "iterations": 2, "env": {"name": "plan_path"},
            "policies": {"solo": POLICY}, "roles": {"tool": "solo", "planner": "solo"},
            "storage": {"uri": self.uri},
        }  # fmt: skip
        (folder / "config.yaml").write_text(yaml.safe_dump(content))
        self.config: ExperimentConfig = load_config(folder / "config.yaml")
        self.store = open_store(self.config.storage)
        register_run(self.store, "r", self.config)

    def commit(self, *iterations: int) -> None:
        for iteration in iterations:
            write_state(self.store, make_state(self.config, "r", iteration))

    def log(self, iteration: int, *lines: str) -> None:
        path = log_path("r", iteration)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as log:
            log.writelines(f"{line}\n" for line in lines)

    def say(self, *words: str, code: int = 0) -> str:
        """What a command prints, its exit code checked; of a refusal the one line."""
        self.capture.readouterr()
        assert main([*words, "--store", self.uri]) == code
        out, error = self.capture.readouterr()
        return out if code in (0, 1) else error

    @contextmanager
    def driver(self) -> Iterator["subprocess.Popen[str]"]:
        """Another process that drives `r`, for a while."""
        command = [sys.executable, "-c", DRIVES.format(uri=self.uri)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            try:
                assert child.stdout is not None and child.stdout.readline() == "driving\n"
                yield child
            finally:
                child.kill()

    def on(self, api: KfpApi) -> Any:
        return Place(api, self.config, self.folder).runner()


@pytest.fixture
def desk(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.chdir(tmp_path)
    yield Desk(tmp_path, capfd)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_store_without_runs_says_so(desk: Desk) -> None:
    desk.uri = f"file://{desk.folder}/empty"
    assert desk.say("status") == f"{desk.uri} holds no run\n"
    words = f"error: run 'r' is not in {desk.uri}; it holds no run at all: another --store?\n"
    assert desk.say("status", "r", code=2) == words


def test_status_tells_the_states_apart(desk: Desk) -> None:
    assert "unknown (no driver of it is known on this machine" in desk.say("status", "r")
    desk.commit(0, 1)
    with announced("r", desk.uri, 2):
        text = desk.say("status", "r")
        assert text.startswith(f"r: running (process {os.getpid()} on this machine, 0 s ago)")
        assert f"iteration 1/2 in {desk.uri}" in text
        assert desk.say("status").splitlines()[1].split() == ["1/2", "running", "-", "-", "r"]
    words = "error: update (run r, iteration 2): no luck"
    with pytest.raises(StepFailed), announced("r", desk.uri, 2):
        raise StepFailed(words)
    text = desk.say("status", "r")
    assert "failed (0 s ago: update (run r, iteration 2): no luck)" in text
    assert "go on with: python -m pipelines" in text
    with pytest.raises(KeyboardInterrupt), announced("r", desk.uri, 2):
        raise KeyboardInterrupt
    assert "stopped (interrupted 0 s ago)" in desk.say("status", "r")
    desk.commit(2)
    write_verdict(desk.store, desk.config, "r", 2)
    assert desk.say("status", "r").startswith("r: finished, iteration 2/2")
    with announced("r", desk.uri, 5):
        pass
    assert "stopped (its driver ended" in desk.say("status", "r")  # 3 more were asked for


def test_a_run_that_a_budget_ends_is_finished_when_its_last_team_was_judged(desk: Desk) -> None:
    desk.commit(0, 1)
    with announced("r", desk.uri, OPEN_ENDED):
        pass
    assert "stopped (its driver ended" in desk.say("status", "r")
    write_verdict(desk.store, desk.config, "r", 1)
    assert desk.say("status", "r").startswith("r: finished, iteration 1 in")
    desk.commit(2)
    assert "stopped (its driver ended" in desk.say("status", "r")


def test_a_driver_that_others_overtook_is_no_longer_believed(desk: Desk) -> None:
    desk.commit(0, 1)
    with announced("r", desk.uri, 1):
        pass
    write_verdict(desk.store, desk.config, "r", 1)
    assert desk.say("status", "r").startswith("r: finished, iteration 1/1")
    desk.commit(2)  # by somebody else, who will ask the gate later
    text = desk.say("status", "r")
    why = "its driver here ended at iteration 1, others went on; --endpoint asks a cluster"
    assert text.startswith(f"r: unknown ({why}), iteration 2/2")
    assert "go on with" not in text and "go on with" not in desk.say("stop", "r")


def test_a_run_that_cannot_be_read_hides_no_other(desk: Desk) -> None:
    desk.store.write("runs/broken/config.json", b"{")
    lines = desk.say("status").splitlines()
    assert sorted(line.split()[1] for line in lines[1:]) == ["unknown", "unreadable"]


def test_status_names_the_step_that_runs(desk: Desk) -> None:
    desk.commit(0)
    mark = f"{STEP_MARK}load-state"
    desk.log(1, mark, f"{STEP_MARK}rollout", "progress step=rollout done=3 total=8 unit=turns")
    with announced("r", desk.uri, 2):
        assert "iteration 1: rollout runs: 3/8 turns" in desk.say("status", "r")
        desk.log(1, f"{STEP_MARK}update")
        assert "iteration 1: update runs\n" in desk.say("status", "r")


def test_stop_ends_the_driver_and_says_how_to_go_on(desk: Desk) -> None:
    desk.commit(0, 1)
    with desk.driver() as child:
        text = desk.say("stop", "r")
        assert child.wait(10) == -signal.SIGTERM
    assert f"r: stopping process {child.pid}" in text and "r: stopped" in text
    assert f"committed: iteration 1/2 in {desk.uri}" in text and "go on with: python -m" in text
    words = "r: nobody drives it on this machine: stopped (its driver was killed"
    assert words in desk.say("stop", "r")


def test_stop_says_if_the_driver_takes_longer(desk: Desk) -> None:
    with desk.driver() as child:
        child.send_signal(signal.SIGSTOP)
        text = desk.say("stop", "r", "--wait-s", "0", code=1)
        assert f"process {child.pid} has not ended in 0 s" in text and "kill -9" in text


def test_logs_are_found_by_iteration_and_step(desk: Desk) -> None:
    assert "run 'r' has no logs in build/runs/r/logs" in desk.say("logs", "r", code=2)
    desk.log(1, "--- iteration {}", f"{STEP_MARK}load-state", "a", f"{STEP_MARK}sample-turn", "b")
    desk.log(1, f"{STEP_MARK}sample-turn-2", "c", f"{STEP_MARK}commit", "d")
    desk.log(0, f"{STEP_MARK}initialise", "z")
    os.utime(log_path("r", 0), (1, 1))
    assert desk.say("logs", "r").splitlines()[-1] == "d"
    staged = desk.say("logs", "r", "--step", "sample_turn").splitlines()
    assert staged == [f"{STEP_MARK}sample-turn", "b", f"{STEP_MARK}sample-turn-2", "c"]
    assert desk.say("logs", "r", "--step", "sample-turn-2").splitlines()[-1] == "c"
    assert desk.say("logs", "r", "--iteration", "0").splitlines()[-1] == "z"
    words = "--iteration 7: run 'r' has logs of 0, 1 here"
    assert words in desk.say("logs", "r", "--iteration", "7", code=2)
    words = "no such step; it has load_state, sample_turn, sample_turn_2, commit"
    assert words in desk.say("logs", "r", "--step", "dance", code=2)


def test_the_lines_of_kfps_local_runner_are_known() -> None:
    steps = Steps("load_state")
    lines = ["x", "19:14:08.158 - INFO - Executing task 'load-state'", "mine", "--- iteration {}"]
    assert [steps.takes(line) for line in lines] == [False, True, True, False]
    assert not is_step("update-tool", "update") and is_step("update-2", "update")


LOCAL_LOG = """\
--- iteration {'iteration': 1}
18:52:36.701 - INFO - Running pipeline: 'rolewise-quickstart-iteration'
RULE
18:52:36.710 - INFO - Executing task 'rollout'
--- step rollout
18:52:36.712 - INFO - Streamed logs:

    [KFP Executor 2026-11-29 18:52:36,841 INFO]: Looking for component `rollout` in --component_x
    [KFP Executor 2026-11-29 18:52:36,841 INFO]: Got executor_input:
    {
        "inputs": {
            "parameterValues": {
                "iteration": 1
            }
        }
    }
    [KFP Executor 2026-11-29 18:52:45,625 WARNING]: no Triton
    engine: vllm

      two lines
    {
    [KFP Executor 2026-11-29 18:52:56,817 INFO]: Wrote executor output file to /x
    

18:52:58.831 - INFO - Task 'rollout' finished with status SUCCESS
18:52:58.832 - INFO - Task 'rollout' outputs:
    scored: Dataset( name='scored',
                     metadata={} )
RULE
18:52:58.834 - INFO - Executing task 'group'
18:52:58.834 - INFO - Streamed logs:

    error: group (run r, iteration 1): no luck

18:52:59.170 - ERROR - Task 'group' finished with status FAILURE
Pipeline failed
""".replace("RULE", "-" * 80).splitlines()  # noqa: W293


def test_of_kfps_local_runner_the_steps_own_lines_are_shown(desk: Desk) -> None:
    desk.log(1, *LOCAL_LOG)
    own = [
        "--- step rollout", "no Triton", "engine: vllm", "", "  two lines", "{",
        "--- step group", "error: group (run r, iteration 1): no luck", "",
        "18:52:59.170 - ERROR - Task 'group' finished with status FAILURE", "Pipeline failed",
    ]  # fmt: skip
    assert desk.say("logs", "r").splitlines() == [LOCAL_LOG[0], *own]
    assert desk.say("logs", "r", "--all").splitlines() == LOCAL_LOG
    assert desk.say("logs", "r", "--step", "rollout").splitlines() == own[:6]


def test_logs_are_followed_into_the_next_iteration_until_the_driver_ends(desk: Desk) -> None:
    desk.log(1, f"{STEP_MARK}rollout", "one")
    follower = [sys.executable, "-m", "pipelines", "logs", "r", "-f"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with desk.driver() as driver:
        child = subprocess.Popen(follower, stdout=subprocess.PIPE, text=True, env=environment)
        assert child.stdout is not None
        seen = [child.stdout.readline(), child.stdout.readline()]
        time.sleep(0.05)  # another second of the clock is not needed: mtime has nanoseconds
        desk.log(2, f"{STEP_MARK}group", "two")
        seen += [child.stdout.readline(), child.stdout.readline()]
        driver.kill()
        driver.wait()
        assert child.wait(20) == 0
        assert seen == [f"{STEP_MARK}rollout\n", "one\n", f"{STEP_MARK}group\n", "two\n"]
        child.stdout.close()


def test_on_a_cluster_status_and_stop_speak_of_its_run(desk: Desk) -> None:
    desk.commit(0)
    with serving(Commits(desk.config, hold="iteration")) as api:
        on = ("--endpoint", api.url)
        assert f"no run of it on {api.url}" in desk.say("status", "r", *on)
        desk.on(api).begin(*FIRST)
        wait_for(lambda: bool(api.runs[0].tasks))
        text = desk.say("status", "r", *on)
        assert f"r-iteration-000001: RUNNING: {api.url}/#/runs/details/" in text
        assert "  runs: load-state" in text
        text = desk.say("stop", "r", *on)
        assert "r-iteration-000001: asked to terminate" in text
        assert "r-iteration-000001: CANCELED" in text and api.runs[0].state == "CANCELED"
        assert f"r: no active run of it on {api.url}" in desk.say("stop", "r", *on)


def test_on_a_cluster_status_tells_why_it_failed(desk: Desk) -> None:
    desk.commit(0)
    with serving(Commits(desk.config, fail=["iteration"])) as api:
        desk.on(api).begin(*FIRST)
        wait_for(lambda: api.runs[0].state == "FAILED")
        text = desk.say("status", "r", "--endpoint", api.url)
        assert "\n  load_state (run r, iteration 1): no luck\n" in text


def test_logs_of_pods_are_shown_and_followed(desk: Desk) -> None:
    desk.commit(0)

    def execute(run: Posted) -> str:
        run.starts("load-state")
        run.prints("loaded")
        run.starts("rollout")
        run.prints("half")
        run.stop.wait(2.5)
        run.prints("whole")
        run.starts("group")
        return "no log of it"

    with serving(execute) as api:
        on = ("--endpoint", api.url)
        assert "run 'r' has no run of what comes next" in desk.say("logs", "r", *on, code=2)
        desk.on(api).begin(*FIRST)
        wait_for(lambda: len(api.runs[0].nodes) > 1)
        assert desk.say("logs", "r", "--step", "rollout", *on).splitlines()[-1] == "half"
        lines = desk.say("logs", "r", "-f", "--iteration", "1", *on).splitlines()
        name = api.runs[0].workflow_name
        assert lines[1:] == [
            f"--- step load-state (pod {name}-system-container-impl-0)", "loaded",
            f"--- step rollout (pod {name}-system-container-impl-1)", "half", "whole",
            "--- step group: Failed, no log: no log of it",
        ]  # fmt: skip
        words = "--step dance: r-iteration-000001 has no such step; it has load-state, rollout, gr"
        assert words in desk.say("logs", "r", "--step", "dance", *on, code=2)


def test_the_drivers_store_is_the_default_for_a_name(desk: Desk) -> None:
    with announced("r", desk.uri, 2):
        pass
    desk.capture.readouterr()
    assert last_driver("r") is not None and main(["status", "r"]) == 0
    assert desk.uri in desk.capture.readouterr().out


def test_a_refused_cluster_ends_nothing(desk: Desk) -> None:
    with desk.driver() as child:
        text = desk.say("stop", "r", "--endpoint", "http://127.0.0.1:9", code=2)
        assert "no answer from the Kubeflow Pipelines API" in text
        assert child.poll() is None
