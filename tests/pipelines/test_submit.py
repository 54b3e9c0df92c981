"""`python -m pipelines submit`: exit codes, links, and what is left when it is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import load_config
from pipelines.__main__ import main
from tests.doubles.kfp_api import KfpApi, serving
from tests.pipelines.experiment import POLICY
from tests.pipelines.on_cluster import Commits
from tests.pipelines.test_cluster import wait_for

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Desk:
    """A configuration, a cluster whose runs commit at once, and the command line."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.path, self.capture = folder / "config.yaml", capture
        content = {
            "name": "wired", "iterations": 1,
            "env": {"name": "plan_path", "options": {"prompt_style": "compact"}},
            "policies": {"solo": POLICY}, "roles": {"tool": "solo", "planner": "solo"},
            "storage": {"uri": f"file://{folder}/store"},
        }  # fmt: skip
        self.path.write_text(yaml.safe_dump(content))
        self.commits = Commits(load_config(self.path))

    def words(self, api: KfpApi | None, *words: str) -> list[str]:
        address = ["--endpoint", api.url, "--experiment", "teams"] if api else []
        return ["submit", str(self.path), "--name", "r", *address, *words]

    def submit(self, api: KfpApi | None, *words: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self.capture.readouterr()
        code = main(self.words(api, *words))
        return code, *self.capture.readouterr()

    def process(self, api: KfpApi, *words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "pipelines", *self.words(api, *words)]
        paths = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
        out = subprocess.PIPE
        return subprocess.Popen(command, env=paths, stdout=out, stderr=out, text=True)


ROOT = Path(__file__).parents[2]


@pytest.fixture
def desk(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    for name in ("KF_PIPELINES_ENDPOINT", "KF_PIPELINES_TOKEN", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    yield Desk(tmp_path, capfd)
    signal.signal(signal.SIGTERM, handler)


def names(api: KfpApi) -> list[str]:
    return [run.body["display_name"] for run in api.runs]


def test_one_at_a_time_then_all_with_wait(desk: Desk) -> None:
    with serving(desk.commits) as api:
        code, out, _ = desk.submit(api)
        assert code == 0 and names(api) == ["r-preparation"]
        assert f"r-preparation: {api.url}/#/runs/details/" in out
        assert "1 more to submit when it has ended: the same command again" in out
        wait_for(lambda: api.runs[0].state == "SUCCEEDED")
        code, out, error = desk.submit(api, "--wait")
        assert code == 0, error
        assert names(api) == ["r-preparation", "r-iteration-000001"]
        assert "promotion: promoted" in out and "report.html" in out
        code, out, _ = desk.submit(api)
        assert code == 0 and "all 1 iterations are done, nothing was run" in out
        assert [item["display_name"] for item in api.experiments] == ["teams"]


def test_a_failure_is_exit_code_1_with_its_words_and_link(desk: Desk) -> None:
    desk.commits.fail = ["preparation"]
    with serving(desk.commits) as api:
        code, _, error = desk.submit(api, "--wait")
        assert code == 1
        (line,) = error.splitlines()
        words = "error: r-preparation: FAILED: load_state (run r, iteration 1): no luck"
        assert line.startswith(f"{words} ({api.url}/#/runs/details/")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "error: no API: give --endpoint URL, or set KF_PIPELINES_ENDPOINT"),
        (["--endpoint", "http://127.0.0.1:9"], "error: http://127.0.0.1:9: no answer from the Kub"),
        (["--profile", "moon"], "error: profile 'moon' is unknown; known: 8xh100, cpu, single-gpu"),
        (["--set-image", "cpu"], "error: --set-image 'cpu': expected runtime="),
        (["--set", "rollout.num_turns=0"], "error: "),
    ],
)
def test_wrong_input_is_exit_code_2_and_one_line(
    desk: Desk, words: list[str], message: str
) -> None:
    code, _, error = desk.submit(None, *words)
    assert code == 2
    (line,) = error.splitlines()
    assert line.startswith(message)


def test_a_wrong_token_is_exit_code_2(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("stale")
    with serving(desk.commits, token="fresh") as api:
        code, _, error = desk.submit(api, "--token-file", str(tmp_path / "token"))
        assert (code, names(api)) == (2, [])
        assert f"refused our token (401; {tmp_path}/token)" in error


def test_a_killed_driver_leaves_one_run_which_is_adopted(desk: Desk) -> None:
    desk.commits.hold = "iteration"
    with serving(desk.commits) as api:
        driver = desk.process(api, "--wait")
        wait_for(lambda: len(api.runs) == 2, 60)
        driver.kill()
        driver.communicate()
        assert [run.state for run in api.runs] == ["SUCCEEDED", "RUNNING"]
        code, out, _ = desk.submit(api)
        assert code == 0 and "r-iteration-000001: already active on the cluster, adopted" in out
        desk.commits.release.set()
        assert desk.submit(api, "--wait")[0] == 0
        assert len(api.runs) == 2


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("terminate", [False, True])
def test_a_stop_says_what_becomes_of_the_run(
    desk: Desk, terminate: bool, number: signal.Signals
) -> None:
    desk.commits.hold = "preparation"
    with serving(desk.commits) as api:
        options: list[Any] = ["--terminate-on-interrupt"] if terminate else []
        driver = desk.process(api, "--wait", *options)
        wait_for(lambda: bool(api.runs), 60)
        wait_for(lambda: api.runs[0].state == "RUNNING")
        for _ in range(3):  # a process group or an impatient user: the goodbye is said all the same
            driver.send_signal(number)
            time.sleep(0.01)
        out, error = driver.communicate(timeout=60)
        assert driver.returncode == 130
        assert ("r-preparation: terminated" if terminate else "goes on on the cluster") in out
        assert "interrupted; what is committed stays. Go on with: python -m pipelines" in error
        if terminate:
            wait_for(lambda: api.runs[0].state == "CANCELED")
        assert (api.runs[0].state == "RUNNING") == (not terminate)


def test_stop_with_the_cluster_leaves_nobody_who_says_that_it_goes_on(desk: Desk) -> None:
    desk.commits.hold = "preparation"
    with serving(desk.commits) as api:
        driver = desk.process(api, "--wait")
        wait_for(lambda: bool(api.runs), 60)
        wait_for(lambda: api.runs[0].state == "RUNNING")
        store = f"file://{desk.path.parent}/store"
        assert main(["stop", "r", "--store", store, "--endpoint", api.url]) == 0
        out, _ = driver.communicate(timeout=60)
        told = desk.capture.readouterr().out
        assert api.runs[0].state == "CANCELED" and len(api.runs) == 1
        assert told.index("r-preparation: asked to terminate") < told.index("go on with: ")
        assert "r-preparation: CANCELED" in told and "goes on on the cluster" not in out
