"""Stopped by Ctrl-C, by an impatient Ctrl-C and by `stop`, a run ends with the same bytes."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipelines.presence import last_driver
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[2]


def make_place(folder: Path) -> Workplace:
    folder.mkdir()
    place = Workplace(folder)
    place.write(words_experiment({"first": "a", "second": "b"}, iterations=1))
    return place


def until_step(log: Path, step: str) -> None:
    """Wait until a step has begun, as the log says."""
    end = time.monotonic() + 240
    while not (log.exists() and f"--- step {step}" in log.read_text()):
        assert time.monotonic() < end, "the step never began"
        time.sleep(0.05)
    time.sleep(0.5)


def left_behind(folder: Path) -> list[str]:
    """Processes that still work on the experiment."""
    lines = [
        " ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])
    ]
    return [line for line in lines if str(folder) in line]


@pytest.mark.parametrize("runner", ["local", "inprocess"])
def test_every_kind_of_stop_leaves_a_run_that_goes_on(tmp_path: Path, runner: str) -> None:
    plain, stopped = make_place(tmp_path / "plain"), make_place(tmp_path / "stopped")
    name = f"stopped-{tmp_path.parent.name}-{runner}"
    assert plain.run("run", "--name", f"{name}-not", "--runner", "inprocess").returncode == 0
    command = stopped.command("run", "--name", name, "--runner", runner)
    logs = Path("build/runs", name, "logs")
    for log, step, number, times in (
        ("000000", "initialise", signal.SIGINT, 1),
        ("000001", "rollout", signal.SIGINT, 3),
        ("000001", "update", None, 1),
    ):
        (logs / f"{log}.log").unlink(missing_ok=True)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            until_step(logs / f"{log}.log", step)
            if number is None:
                stop = [sys.executable, "-m", "pipelines", "stop", name]
                done = subprocess.run(stop, capture_output=True, text=True, timeout=120)
                assert done.returncode == 0, done.stdout + done.stderr
                assert (
                    f"{name}: stopped" in done.stdout and "committed: iteration 0/1" in done.stdout
                )
            for _ in range(times if number else 0):
                child.send_signal(signal.SIGINT)
                time.sleep(0.05)
            _, error = child.communicate(timeout=60)
        assert child.returncode == 130, error
        assert "interrupted; what is committed stays. Go on with: python -m pipelines run" in error
        assert left_behind(stopped.folder) == []
        driver = last_driver(name)
        assert driver is not None and driver.outcome == "interrupted" and not driver.alive
    done = stopped.run("run", "--name", name, "--runner", runner)
    assert done.returncode == 0, done.stdout + done.stderr
    assert stopped.weights(name, 1) == plain.weights(f"{name}-not", 1)
    assert not list(Path("build/runs", name, "artifacts").glob("*"))
