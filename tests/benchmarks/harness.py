"""Timing and the rows that benchmarks report: ours, another's, their ratio, the goal.

A benchmark is a module `bench_<name>.py` with `rows() -> list[Row]`. Both sides are measured in
the same run, taking turns, so that a busy machine slows both.
"""

import time
from collections.abc import Callable
from typing import Any, TypedDict


class Row(TypedDict, total=False):
    """One comparison. `ratio` is how many times better ours is."""

    name: str
    ours: float | None
    other: float | None
    unit: str
    ratio: float | None
    goal: float | None
    """Least ratio; None: reported without a goal."""
    met: bool | None
    """None: not measured, or no goal."""
    note: str
    """What the other side is, or why nothing was measured."""
    benchmark: str
    """`<name>` of its module; given by `run.py`."""


def row(
    name: str, ours: float, other: float, goal: float | None, unit: str, note: str = "",
    higher_is_better: bool = False,
) -> Row:  # fmt: skip
    """A measured comparison of costs (seconds, bytes), or of rates if higher is better."""
    ratio = ours / other if higher_is_better else other / ours
    met = None if goal is None else ratio >= goal
    return Row(
        name=name, ours=ours, other=other, unit=unit, ratio=ratio, goal=goal, met=met, note=note
    )


def within(name: str, ours: float, limit: float, unit: str, note: str = "") -> Row:
    """A cost against a limit of our own: the ratio is limit / ours, the goal 1."""
    return row(name, max(ours, 1e-300), limit, 1.0, unit, note or "a limit, not a peer")


def unmeasured(name: str, goal: float | None, reason: str) -> Row:
    """A comparison that this machine cannot make."""
    return Row(
        name=name, ours=None, other=None, unit="", ratio=None, goal=goal, met=None,
        note=f"not measured: {' '.join(reason.split())}",
    )  # fmt: skip


def seconds(call: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def cpu_seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of one call, all threads of this process together."""
    started = time.process_time()
    call()
    return time.process_time() - started


def compare(ours: Callable[[], Any], other: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Least CPU seconds of both, taking turns, after one call of each to warm up.

    CPU time and its minimum, because what other processes take is no property of either side.
    """
    ours(), other()
    pairs = [(cpu_seconds(ours), cpu_seconds(other)) for _ in range(repeats)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)
