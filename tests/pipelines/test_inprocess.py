"""The interpreter gives what kfp's own runner gives, and refuses what it does not know."""

from pathlib import Path
from typing import Any

import pytest
from kfp import dsl

from pipelines.inprocess import PipelineSpecError, run_pipeline
from pipelines.local import run_local
from tests.pipelines.toy import FUNCTIONS, STEPS, compiled

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def run_here(folder: Path, **arguments: Any) -> str:
    """The text that the toy pipeline leaves, run in this process."""
    target = folder / "here.txt"
    run_pipeline(compiled()[1], FUNCTIONS, {"target": str(target), **arguments}, folder / "here")
    return target.read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"word": "x"}, "ababx-X+Z"),
        ({"word": "y", "count": 1, "finish": True}, "aby-Y+Z!closed"),
    ],
)
def test_equals_kfps_runner(tmp_path: Path, arguments: dict[str, Any], expected: str) -> None:
    target, lines = tmp_path / "local.txt", list[str]()
    code = run_local(
        compiled()[0], {"target": str(target), **arguments}, tmp_path / "local", lines.append
    )
    assert code == 0, "\n".join(lines[-20:])
    assert target.read_text() == expected
    assert run_here(tmp_path, **arguments) == expected


def test_each_task_has_its_own_artifacts(tmp_path: Path) -> None:
    run_here(tmp_path, word="x")
    grown = sorted(path.read_text() for path in (tmp_path / "here").glob("grow*/grown"))
    assert grown == ["ababx", "ababz"]
    assert (tmp_path / "here/inner/grow-2/grown").read_text() == "ababx-"


def test_artifacts_have_the_declared_type(tmp_path: Path) -> None:
    seen = {}

    def watch(**inputs: Any) -> None:
        seen.update(inputs)
        FUNCTIONS["join"](**inputs)

    functions = FUNCTIONS | {"join": watch}
    arguments = {"target": str(tmp_path / "t"), "word": "x"}
    run_pipeline(compiled()[1], functions, arguments, tmp_path)
    assert type(seen["source"]) is dsl.Dataset
    assert seen["metrics"].metadata == {"length": 9}


def test_a_failing_step_rises_and_stops(tmp_path: Path) -> None:
    started: list[str] = []
    spec = compiled()[1]
    bad = FUNCTIONS | {"grow": lambda source, word, grown: _bad(grown)}
    with pytest.raises(RuntimeError, match="a bad word"):
        run_pipeline(
            spec, bad, {"target": str(tmp_path / "t"), "word": "x", "finish": True}, tmp_path,
            started.append,
        )  # fmt: skip
    assert started[-1] == "join"


def _bad(grown: Any) -> str:
    Path(grown.path).write_text("")
    return "bad"


def test_missing_parameter_is_named(tmp_path: Path) -> None:
    with pytest.raises(PipelineSpecError, match="parameter 'word' is missing"):
        run_pipeline(compiled()[1], FUNCTIONS, {"target": "t"}, tmp_path)


def test_unknown_step_is_named(tmp_path: Path) -> None:
    with pytest.raises(PipelineSpecError, match=r"step 'start' is unknown; known: \['close'\]"):
        run_pipeline(compiled()[1], {"close": print}, {"target": "t", "word": "x"}, tmp_path)


@dsl.pipeline(name="loops")
def loops() -> None:
    """A loop, which ours do not use."""
    with dsl.ParallelFor(["a", "b"]) as item:
        STEPS["start"](text=item, count=1)


@dsl.pipeline(name="compares")
def compares(count: int) -> None:
    """A comparison other than equality."""
    with dsl.If(count > 3):
        STEPS["start"](text="a", count=1)


@pytest.mark.parametrize(
    ("pipeline", "arguments", "named"),
    [(loops, {}, "parameterIterator"), (compares, {"count": 4}, "condition .* > 3")],
)
def test_refuses_what_it_does_not_interpret(
    tmp_path: Path, pipeline: Any, arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(PipelineSpecError, match=named):
        run_pipeline(compiled(pipeline)[1], FUNCTIONS, arguments, tmp_path)
