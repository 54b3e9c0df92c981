"""A whole run by `submit --wait` on a stand-in that really executes every step."""

import subprocess
from pathlib import Path

import pytest

from tests.doubles.kfp_api import locally, serving
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def test_submitted_runs_end_with_the_weights_of_a_local_run(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    place.write(words_experiment({"first": "solo", "second": "solo"}))
    (tmp_path / "runs").mkdir()
    with serving(locally(tmp_path / "runs")) as api:
        words = ("--endpoint", api.url, "--experiment", "words", "--name", "cluster", "--wait")
        done = run(place, "submit", *words)
        assert done.returncode == 0, done.stderr
        states = [(run.body["display_name"], run.state) for run in api.runs]
        assert states == [
            ("cluster-preparation", "SUCCEEDED"),
            ("cluster-iteration-000001", "SUCCEEDED"),
        ]
        tasks = [task["display_name"] for task in api.runs[1].tasks]
        assert tasks == [
            "load-state",
            "rollout",
            "group",
            "update",
            "commit",
            "evaluate",
            "promote",
        ]
    assert "promotion: " in done.stdout and f"{api.url}/#/runs/details/" in done.stdout
    local = run(place, "run", "--name", "local", "--runner", "inprocess")
    assert local.returncode == 0, local.stderr
    assert place.weights("cluster", 1) == place.weights("local", 1)


def run(place: Workplace, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(place.command(*words), capture_output=True, text=True, timeout=900)
