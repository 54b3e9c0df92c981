"""Progress lines: what the step prints, the driver reads."""

import pytest

from components.progress import Progress, parse_progress, progress


def test_a_line_is_printed_and_read(capsys: pytest.CaptureFixture[str]) -> None:
    progress("rollout", 192, 192, "turns", tokens_per_s=8412.0, engine="vLLM on CPU")
    line = capsys.readouterr().out
    assert line == (
        "progress step=rollout done=192 total=192 unit=turns tokens_per_s=8412 engine=vLLM_on_CPU\n"
    )
    rates = {"tokens_per_s": "8412", "engine": "vLLM_on_CPU"}
    assert parse_progress(f"[task 3] {line}") == Progress("rollout", 192, 192, "turns", rates)


def test_lines_that_come_too_fast_are_dropped_but_not_the_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for done in range(1, 1001):
        progress("fast", done, 1000, "samples")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("progress step=fast done=1 ")
    assert lines[-1].startswith("progress step=fast done=1000 ")
    assert len(lines) < 10


@pytest.mark.parametrize(
    "line",
    [
        "",
        "in progress",
        "progress step=",
        "progress step=x",
        "progress step=x done=a total=2 unit=t",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert parse_progress(line) is None
