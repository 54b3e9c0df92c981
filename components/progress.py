"""Progress of a long step: one line of text, written by the step and read by the driver."""

import time
from dataclasses import dataclass, field

_MIN_INTERVAL_S = 0.3
_last_printed: dict[str, float] = {}


@dataclass(frozen=True)
class Progress:
    """How far a step has come."""

    step: str
    done: int
    total: int
    unit: str
    """What is counted, e.g. `turns`."""
    rates: dict[str, str] = field(default_factory=dict)
    """Further values as text, e.g. tokens_per_s."""


def progress(step: str, done: int, total: int, unit: str, **rates: float | str) -> None:
    """Print one progress line, flushed; lines that come too fast are dropped, the last never."""
    now = time.monotonic()
    if done < total and now - _last_printed.get(step, -1e9) < _MIN_INTERVAL_S:
        return
    _last_printed[step] = now
    print(format_progress(Progress(step, done, total, unit, _as_text(rates))), flush=True)


def format_progress(value: Progress) -> str:
    """`progress step=rollout done=96 total=192 unit=turns tokens_per_s=8412`."""
    fields = {"step": value.step, "done": value.done, "total": value.total, "unit": value.unit}
    words = [f"{name}={_word(str(item))}" for name, item in (fields | value.rates).items()]
    return " ".join(["progress", *words])


def parse_progress(line: str) -> Progress | None:
    """The progress in a line of output, which may have a prefix; None if there is none."""
    _, found, rest = line.partition("progress step=")
    if not found:
        return None
    try:
        fields = dict(word.split("=", 1) for word in f"step={rest}".split())
        step, done, total, unit = (fields.pop(key) for key in ("step", "done", "total", "unit"))
        return Progress(step, int(done), int(total), unit, fields)
    except (KeyError, ValueError):
        return None


def _as_text(rates: dict[str, float | str]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else f"{value:.6g}" for name, value in rates.items()
    }


def _word(text: str) -> str:
    return "_".join(text.split()) or "-"
