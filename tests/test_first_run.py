"""docs/first_run.md, word by word: one run is started, stopped, gone on with, looked at, compared.

Not executed: `make env` and the activation of its result. Another terminal is a process beside the
walk; the page's MLflow gets a free port.
"""

import json
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.documents import blocks
from tests.walkthrough import LIMIT_S, ROOT, Walk, shell

PAGE = ROOT / "docs" / "first_run.md"
BEGUN = "build/store/runs/first/state/000001.json"


@dataclass
class FirstRun(Walk):
    """Its other terminals: a run until its first iteration is committed, and MLflow's page."""

    codes: list[int] = field(default_factory=list)
    """How the processes of other terminals ended."""
    series: dict[str, list[float]] = field(default_factory=dict)
    """What MLflow's page would draw of the run `first`."""

    @contextmanager
    def _started(self, text: str) -> Iterator[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{free.getsockname()[1]}"
        served = "mlflow ui" in text
        port = f" --port {address.rpartition(':')[2]} --workers 1" if served else ""
        log = self.folder / "other_terminal.log"
        with log.open("w") as file:
            child = subprocess.Popen(
                shell(f"exec {text}{port}"), cwd=self.folder, env=self.environment,
                stdout=file, stderr=file,
            )  # fmt: skip
        try:
            if served:
                self.series = wait_for(child, log, lambda: series_of(address))
            else:
                wait_for(child, log, (self.folder / BEGUN).exists)
            yield ""
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
            self.codes.append(child.wait(120))


def wait_for(child: "subprocess.Popen[bytes]", log: Path, ready: Callable[[], Any]) -> Any:
    """What `ready` returns as soon as it is true. AssertionError if the process ends before."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and child.poll() is None:
        try:
            if found := ready():
                return found
        except OSError:  # nobody listens yet
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text())


def series_of(address: str) -> dict[str, list[float]]:
    """The series that the page names, asked for as MLflow's page does."""
    (experiment,) = ask(address, "experiments/search", max_results=9, filter="name = 'first'")[
        "experiments"
    ]
    search = {"experiment_ids": [experiment["experiment_id"]], "max_results": 100}
    runs = ask(address, "runs/search", **search)["runs"]
    (run,) = [run["info"]["run_id"] for run in runs if run["info"]["run_name"] == "first"]
    names = re.findall(r"`((?:evaluation|rollout|grouping|update)/[\w/]+)`", PAGE.read_text())
    found = {}
    for name in names:
        path = f"metrics/get-history?run_id={run}&metric_key={name}"
        found[name] = [point["value"] for point in ask(address, path)["metrics"]]
    return found


def ask(address: str, path: str, **content: Any) -> Any:
    """MLflow's REST API: GET, or POST of a content."""
    request = urllib.request.Request(
        f"{address}/api/2.0/mlflow/{path}",
        json.dumps(content).encode() if content else None,
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    walk = FirstRun(PAGE, tmp_path_factory.mktemp("first_run"))
    walk.through()
    return walk


def printed(walk: FirstRun, end: str) -> str:
    """What the command with this end printed, in the first terminal."""
    (found,) = [each.printed for each in walk.commands if each.text.endswith(end) and each.printed]
    return found


def successes(printed: str) -> dict[int, float]:
    """Iteration -> success in per cent, from the table."""
    return {int(i): float(s) for i, s in re.findall(r"^ +(\d+) +([\d.]+) %", printed, re.M)}


@pytest.mark.full
def test_only_the_installation_is_left_out(walked: FirstRun) -> None:
    assert walked.left_out == ["make env", "source .venv/bin/activate"]
    assert walked.codes == [0, 130]  # the last that began ends first: MLflow, the stopped run


@pytest.mark.full
def test_the_team_learns_and_is_promoted(walked: FirstRun) -> None:
    shown = printed(walked, "--name first --runner inprocess")
    found = successes(shown)
    assert sorted(found) == [0, 1, 2, 3]
    assert found[3] >= found[0] + 25
    assert "promotion: promoted: " in shown
    before = re.search(r"iteration 3/3: success before it ([\d.]+)%", shown)
    assert before and float(before[1]) == found[2]


@pytest.mark.full
def test_it_goes_on_where_it_was_stopped(walked: FirstRun) -> None:
    stopped = walked.printed("pipelines stop first")
    assert "first: stopped" in stopped
    shown = printed(walked, "--name first --runner inprocess")
    assert "preparation | " not in shown and "iteration 1/3 | " not in shown


@pytest.mark.full
def test_the_gate_is_asked_again(walked: FirstRun) -> None:
    shown = printed(walked, "--iterations 4")
    assert sorted(successes(shown)) == [0, 1, 2, 3, 4]
    assert re.search(r"promotion: (refused|promoted): .* against the champion team", shown)
    assert walked.printed("history first").count("first@3") >= 1


@pytest.mark.full
def test_pairs_begin_with_the_same_team(walked: FirstRun) -> None:
    first = successes(printed(walked, "--name first --runner inprocess"))
    pairs = successes(printed(walked, "--set rollout.num_tasks=192"))
    assert first[0] == pairs[0]
    verdict = walked.printed("compare first:3 pairs").splitlines()[-1]
    assert "between first:3 and pairs:3" in verdict or " is better than " in verdict


@pytest.mark.full
def test_mlflow_shows_the_series_that_it_names(walked: FirstRun) -> None:
    assert len(walked.series) == 4
    assert all(len(values) == 3 for values in walked.series.values()), walked.series


@pytest.mark.full
def test_the_files_are_where_it_says(walked: FirstRun) -> None:
    text = PAGE.read_text()
    places = set(re.findall(r"`(build/[\w/.]+)`", text))
    assert len(places) >= 11
    assert [place for place in places if not (walked.folder / place).exists()] == []


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())
    assert links and [link for link in links if not (PAGE.parent / link).exists()] == []


def test_its_arithmetic_is_right() -> None:
    """Groups times answers, less those without variance, are the samples."""
    shown = "".join(block.text for block in blocks(PAGE) if block.language == "text")
    lines = re.findall(r"(\d+) samples, (\d+) groups as \w+, ([\d.]+) % without", shown)
    assert len(lines) == 2
    for samples, groups, share in lines:
        dropped = round(int(groups) * float(share) / 100)
        assert 8 * (int(groups) - dropped) == int(samples)
