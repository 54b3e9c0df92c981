"""What the terminal shows while a run goes on: one live line, or plain lines now and then."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from components.progress import Progress

PLAIN_INTERVAL_S = 5.0
"""Between two progress lines where the output is not a terminal."""
LIVE_INTERVAL_S = 0.2


def duration(seconds: float) -> str:
    """`7 s`, `3 min 05 s`, `2 h 07 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@dataclass
class Display:
    """Writes to `out`; a terminal gets a line that is rewritten, anything else plain lines."""

    out: TextIO
    total: int
    """Iterations of the run."""
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)
    _printed: float = field(init=False, default=float("-inf"))
    _live: bool = field(init=False)
    _line_open: bool = field(init=False, default=False)
    _label: str = field(init=False, default="")
    _remaining: int = field(init=False, default=0)
    _finished_s: list[float] = field(init=False, default_factory=list)
    _iteration_began: float = field(init=False)
    _step: str = field(init=False, default="")
    _step_began: float = field(init=False)
    _noticed: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._live = self.out.isatty()
        self._began = self._iteration_began = self._step_began = self.clock()

    def begin(self, label: str, remaining: int) -> None:
        """A pipeline starts; `remaining` iterations are to do, this one included."""
        self._label, self._remaining, self._step = label, remaining, ""
        self._iteration_began = self.clock()

    def step_started(self, step: str) -> None:
        """The next task of the pipeline."""
        self._end_step()
        self._step, self._step_began = step.replace("-", "_"), self.clock()
        if self._live:
            self._show(f"{self._label} | {self._step}")

    def progressed(self, progress: Progress) -> None:
        """A step says how far it is."""
        interval = LIVE_INTERVAL_S if self._live else PLAIN_INTERVAL_S
        if self.clock() - self._printed < interval:
            return
        rate = progress.rates.get("tokens_per_s")
        speed = f", {float(rate):,.0f} tokens/s" if rate else ""
        done = f"{progress.done}/{progress.total} {progress.unit}"
        self._show(f"{self._label} | {progress.step} {done}{speed}{self._time()}")

    def end(self) -> float:
        """The pipeline ended; returns its seconds and counts them for the estimate."""
        self._end_step()
        seconds = self.clock() - self._iteration_began
        if self._remaining:
            self._finished_s.append(seconds)
        return seconds

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._line_open:
            self.out.write("\r\x1b[K")
            self._line_open = False
        self.out.write(text + "\n")
        self.out.flush()

    def notice(self, text: str) -> None:
        """What a step chose for itself, such as its engine: said once."""
        if text not in self._noticed:
            self._noticed.add(text)
            self.say(text)

    def _end_step(self) -> None:
        if self._step and not self._live:
            self.say(f"{self._label} | {self._step} {duration(self.clock() - self._step_began)}")
            self._printed = self.clock()
        self._step = ""

    def _time(self) -> str:
        text = f" | {duration(self.clock() - self._began)}"
        if self._finished_s and self._remaining:
            mean = sum(self._finished_s) / len(self._finished_s)
            spent = self.clock() - self._iteration_began
            left = mean * self._remaining - spent
            text += f", about {duration(left)} left" if left > 0 else ""
        return text

    def _show(self, text: str) -> None:
        """Progress: rewritten on a terminal, a line of its own elsewhere."""
        self._printed = self.clock()
        if not self._live:
            self.say(text)
            return
        width = shutil.get_terminal_size().columns - 1
        self.out.write(f"\r\x1b[K{text[:width]}")
        self.out.flush()
        self._line_open = True
