"""Arms are trained to their budget, go on after a stop, and are scheduled after their starts."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from components.errors import ConfigError
from components.policies import PolicyRef
from components.state import TrainingState, latest_iteration, read_state, write_state
from pipelines.__main__ import main
from pipelines.study import running
from pipelines.study.claims import findings
from pipelines.study.code import this_code
from pipelines.study.plan import load_study
from pipelines.study.publishing import publish, report_text
from pipelines.study.results import results
from pipelines.study.running import ArmsFailed, Scheduler, candidates, is_done, jobs_of, run_arm
from tests.pipelines.study.studies import ARMS, write_study

ROOT = Path(__file__).parents[3]
NOTE = (
    "import sys; arm = sys.argv[2]; open({log!r}, 'a').write(arm + chr(10)); "
    "sys.exit(3 if arm == {failing!r} else 0)"
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.runner.RUNS", tmp_path / "runs")
    monkeypatch.setattr("pipelines.presence.RUNS", tmp_path / "runs")
    monkeypatch.setattr(running, "STUDIES", tmp_path / "studies")
    monkeypatch.setattr("pipelines.study.publishing.STUDIES", tmp_path / "studies")


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::FutureWarning:torch")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning:torch")
def test_a_study_is_trained_and_told(tmp_path: Path) -> None:
    path = write_study(tmp_path, candidates=30)
    study = load_study(path)
    store = running.store_of(study)
    jobs = jobs_of(study)
    with pytest.raises(ArmsFailed, match="arm team: its start, arm start of seed 0, is not there"):
        run_arm(study, ("team", 0), sys.stdout)
    for job in jobs:
        assert not is_done(study, store, job)
        run_arm(study, job, sys.stdout)
        assert is_done(study, store, job)

    team, mixed = (read_state(store, f"words-{arm}-s0", 0).policies for arm in ("team", "mixed"))
    last = latest_iteration(store, "words-team-s0")
    assert last is not None
    trained = read_state(store, "words-team-s0", last).policies
    assert mixed["a"].sha256 == trained["a"].sha256 != team["a"].sha256
    assert mixed["b"].sha256 == team["b"].sha256

    spent = candidates(store, "words-team-s0")
    found = {item.arm: item for item in results(study)}
    assert list(found) == ["team", "shared", "mixed"]
    assert found["team"].points[-1].candidates == spent >= 30
    assert found["team"].points[-2].candidates < 30
    assert found["mixed"].points[-1].candidates == spent  # of the team that it is made of
    assert found["mixed"].cpu_s > found["team"].cpu_s > 0
    (finding,) = findings(study, list(found.values()))
    assert finding.num_seeds == 1
    assert finding.verdict == "undecided"  # one seed says nothing about another
    assert "| the team | 1 |" in report_text(study, list(found.values()))
    assert 0 <= found["team"].final["training"] <= 1 and "training" not in found["mixed"].final
    assert "start" in found["team"].final and "start" not in found["mixed"].final
    assert found["team"].digest == study.digest("team", 0) != study.digest("shared", 0)
    assert found["mixed"].code == found["team"].code == [this_code()]
    assert (found["team"].num_updates or 0) > 0 and found["mixed"].num_updates is None

    readme = tmp_path / "README.md"
    readme.write_text("# Words\n<!-- results: begin -->\nold\n<!-- results: end -->\nrest\n")
    publish(study, str(path), lambda text: None)
    assert "old" not in readme.read_text() and readme.read_text().endswith("rest\n")
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")

    told: list[str] = []
    cheaper = load_study(write_study(tmp_path, candidates=10))
    assert "team" not in {item.arm for item in results(cheaper, told.append)}
    assert any("went on past its budget of 10 answers" in line for line in told)

    shutil.rmtree(tmp_path / "store")
    publish(load_study(write_study(tmp_path, candidates=30)), str(path), told.append)
    assert "| the team | 1 |" in readme.read_text()  # from results.json beside it


@pytest.mark.full
def test_the_command_tells_how_far_its_arms_are(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    command = [sys.executable, "-m", "pipelines", "study", str(path), "--arms", "team"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"\[2/2\] words-team-s0: done in ", done.stdout)
    log = (tmp_path / "build/studies/words/team-s0.log").read_text()
    assert re.search(r"^iteration 1, 0 of 20 candidates \| rollout \d+ s$", log, re.MULTILINE)


def test_running_arms_are_told_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "TELL_S", 0.0)
    said: list[str] = []
    study = load_study(write_study(tmp_path))
    script = "import time; time.sleep(0.3)"
    Scheduler(study, ["-c", script], 2, said.append, lambda _: time.sleep(0.05)).run(
        jobs_of(study, ["shared"])
    )
    assert said[0] == "  shared-s0 starts"


def test_a_warm_start_is_told_by_its_own_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "TELL_S", 0.0)
    said: list[str] = []
    script = "import time; print('preparation | warm_start 5/9 steps | 3 s', flush=True)"
    Scheduler(
        load_study(write_study(tmp_path)), ["-c", f"{script}; time.sleep(1)"], 1, said.append,
        lambda _: time.sleep(0.3),
    ).run([("start", 0)])  # fmt: skip
    assert "  start-s0 starts: warm_start 5/9 steps" in said


def test_what_another_process_trains_is_refused(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    held = (
        "import pathlib; from pipelines import presence; "
        f"presence.RUNS = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "with presence.announced('words-start-s0', 'file://x', 9, command='study it'):\n"
        "    print('up', flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", held], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdin is not None and other.stdout is not None
    with other:
        assert other.stdout.readline() == b"up\n"
        words = rf"run 'words-start-s0' is being driven by process {other.pid} .*\(study it\)"
        with pytest.raises(ConfigError, match=words):
            Scheduler(study, ["-c", "raise SystemExit(3)"], 1, print).run(jobs_of(study))
        with pytest.raises(ConfigError, match=words):
            run_arm(study, ("start", 0), sys.stdout)
        other.stdin.close()
    assert not (tmp_path / "studies").exists()


def test_arms_end_with_a_scheduler_that_is_killed(tmp_path: Path) -> None:
    arm, pid = tmp_path / "arm.py", tmp_path / "pid"
    arm.write_text(
        "import os, pathlib, time; from pipelines.study.running import end_with_parent\n"
        f"end_with_parent(); pathlib.Path({str(pid)!r}).write_text(f'{{os.getpid()}}.')\n"
        "time.sleep(60)\n"
    )
    scheduler = (
        "from pipelines.study import plan, running; "
        f"study = plan.load_study({str(write_study(tmp_path))!r}); "
        f"running.Scheduler(study, [{str(arm)!r}], 1, print).run([('start', 0)])"
    )
    killed = subprocess.Popen(
        [sys.executable, "-c", scheduler], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert _soon(lambda: pid.exists() and pid.read_text().endswith("."))
    killed.kill()
    killed.wait()
    number = int(pid.read_text().removesuffix("."))
    assert _soon(lambda: not Path(f"/proc/{number}").exists())


def _soon(met: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not met() and time.monotonic() < end:
        time.sleep(0.05)
    return met()


def schedule(tmp_path: Path, script: str, **changes: object) -> list[str]:
    """The arms in the order in which their processes began."""
    study = load_study(write_study(tmp_path, **changes))
    log = tmp_path / "log"
    try:
        Scheduler(study, ["-c", script], 2, print).run(jobs_of(study))
    finally:
        words = log.read_text().split() if log.exists() else []
    return words


def test_starts_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "POLL_S", 0.05)
    order = schedule(tmp_path, NOTE.format(log=str(tmp_path / "log"), failing=""))
    assert sorted(order) == ["mixed", "shared", "start", "team"]
    assert order.index("start") < order.index("team") < order.index("mixed")


def test_what_needs_a_failed_arm_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "POLL_S", 0.05)
    with pytest.raises(ArmsFailed, match=r"3 of 4 runs failed; see .*start-s0.log"):
        schedule(tmp_path, NOTE.format(log=str(tmp_path / "log"), failing="start"))
    assert sorted((tmp_path / "log").read_text().split()) == ["shared", "start"]


def test_an_interrupt_ends_the_processes(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    pid = tmp_path / "pid"
    script = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt(seconds: float) -> None:
        if pid.exists() and pid.read_text():
            raise KeyboardInterrupt
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        Scheduler(study, ["-c", script], 1, print, interrupt).run(jobs_of(study))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (["--short", "--write"], "expected no --short"),
        (["--with", "x.json"], "expected --results beside it"),
        (["--seeds", "0", "0"], r"--seeds [0, 0] name one twice"),
        (["--results", "--with", "x.json"], "x.json: cannot be read"),
        (["--one", "team", "0", "f00"], "arm team was changed while the study ran"),
    ],
)
def test_what_the_command_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], fault: str
) -> None:
    path = write_study(tmp_path, short={"candidates": 6})
    assert main(["study", str(path), *more]) == 2
    assert fault in capsys.readouterr().err


def test_an_arm_is_told_what_it_was_when_the_study_began(tmp_path: Path) -> None:
    study, seen = load_study(write_study(tmp_path)), tmp_path / "seen"
    script = f"import sys; open({str(seen)!r}, 'w').write(sys.argv[-1])"
    Scheduler(study, ["-c", script], 1, print, lambda _: time.sleep(0.05)).run([("start", 0)])
    assert seen.read_text() == study.digest("start", 0)


def test_results_of_other_settings_are_not_taken_for_done(tmp_path: Path) -> None:
    before = load_study(write_study(tmp_path))
    store, job = running.store_of(before), ("start", 0)
    config = running.bind(before, store, job)
    policies = {name: PolicyRef(name, 0, "file:///x", "0" * 64, 1) for name in config.policies}
    run = before.run_name(*job)
    write_state(store, TrainingState(run, 0, config.digest(), policies, {}, policies, 0))
    assert is_done(before, store, job)
    changed = ARMS | {"start": {**ARMS["start"], "set": {"rollout": {"num_candidates": 4}}}}
    after = load_study(write_study(tmp_path, arms=changed))
    with pytest.raises(ConfigError, match=r"arm start: .*num_candidates: was 3, is 4; .*`name`"):
        is_done(after, store, job)
