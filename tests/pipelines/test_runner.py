"""What a pipeline leaves on this machine: its log by steps, and no more files than are needed."""

import io
from pathlib import Path
from typing import Any

import pytest

from pipelines.display import Display
from pipelines.runner import _NOTICE, RUNS, STEP_MARK, Runner, StepFailed, log_path
from tests.pipelines.experiment import make_config


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def runner(monkeypatch: pytest.MonkeyPatch, fail: bool = False, keep: bool = False) -> Runner:
    """A runner whose pipeline is one step that prints and hands on a file."""

    def run_pipeline(
        spec: Any, functions: Any, arguments: Any, folder: Path, on_start: Any
    ) -> None:
        on_start("roll-out")
        print("printed", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "samples").write_text("many")
        if fail:
            raise RuntimeError("no luck")

    monkeypatch.setattr("pipelines.inprocess.run_pipeline", run_pipeline)
    display = Display(io.StringIO(), 1)
    return Runner(make_config(), "r", "inprocess", display, keep, _specs={"iteration": {}})


def kept() -> list[str]:
    return sorted(path.name for path in (RUNS / "r/artifacts").rglob("*") if path.is_file())


def test_files_between_steps_stay_until_their_pipeline_has_succeeded(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StepFailed):
        runner(monkeypatch, fail=True)("iteration", 1, {"iteration": 1})
    assert kept() == ["samples"]
    (RUNS / "r/artifacts/iteration-000002").mkdir()
    (RUNS / "r/artifacts/iteration-000002/other").write_text("of another iteration")
    runner(monkeypatch)("iteration", 1, {"iteration": 1})
    assert kept() == ["other"]


def test_they_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    runner(monkeypatch, keep=True)("iteration", 1, {"iteration": 1})
    assert kept() == ["samples"]


def test_a_log_says_whose_each_line_is(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    runner(monkeypatch)("iteration", 1, {"iteration": 1})
    lines = log_path("r", 1).read_text().splitlines()
    assert lines[1:] == [f"{STEP_MARK}roll-out", "printed"]


@pytest.mark.parametrize(
    ("line", "notice"),
    [
        ("engine: vllm", True),
        ("    engine: transformers (slower; libnuma is missing)", True),
        ("    engine: Engine = warm_engine(step, team) or open_engine(", False),
    ],
)
def test_source_lines_of_a_traceback_are_no_engine(line: str, notice: bool) -> None:
    assert bool(_NOTICE.match(line)) is notice
