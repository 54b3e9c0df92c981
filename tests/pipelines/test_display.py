"""What the terminal shows, with a clock of our own."""

import io

from components.progress import Progress
from pipelines.display import Display, duration


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def halfway(done: int = 96) -> Progress:
    return Progress("rollout", done, 192, "turns", {"tokens_per_s": "8412"})


def test_plain_lines_are_few() -> None:
    out, clock = io.StringIO(), Clock()
    display = Display(out, 5, clock)
    display.begin("iteration 1/5", 5)
    display.step_started("rollout")
    for done in range(40):
        clock.now += 0.5
        display.progressed(halfway(done))
    display.step_started("group")
    lines = out.getvalue().splitlines()
    assert 3 <= len(lines) <= 6
    assert lines[0] == "iteration 1/5 | rollout 0/192 turns, 8,412 tokens/s | 0 s"
    assert lines[-1] == "iteration 1/5 | rollout 20 s"


def test_a_terminal_gets_one_line_that_is_rewritten() -> None:
    out, clock = Terminal(), Clock()
    display = Display(out, 5, clock)
    display.begin("iteration 1/5", 5)
    display.step_started("load-state")
    clock.now += 1
    display.progressed(halfway())
    assert "\n" not in out.getvalue()
    display.say("done")
    assert out.getvalue().endswith("\r\x1b[Kdone\n")


def test_time_left_comes_from_finished_iterations() -> None:
    out, clock = io.StringIO(), Clock()
    display = Display(out, 3, clock)
    display.begin("iteration 1/3", 3)
    clock.now += 60
    assert display.end() == 60
    display.begin("iteration 2/3", 2)
    clock.now += 30
    display.progressed(halfway())
    assert out.getvalue().endswith("| 1 min 30 s, about 1 min 30 s left\n")


def test_durations() -> None:
    texts = [duration(value) for value in (0.4, 59.4, 59.6, 125, 3600, 7620)]
    assert texts == ["0 s", "59 s", "1 min 00 s", "2 min 05 s", "1 h 00 min", "2 h 07 min"]


def test_a_notice_is_said_once() -> None:
    out = io.StringIO()
    display = Display(out, 5, Clock())
    for text in ("engine: vllm", "engine: vllm", "engine: transformers"):
        display.notice(text)
    assert out.getvalue().splitlines() == ["engine: vllm", "engine: transformers"]
