"""A study's curves as one SVG: success and turns over the generated candidates, by arm.

A line is the mean over seeds, the band from the worst to the best; between a run's points it is
straight.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.study.plan import Study
from pipelines.study.results import Point, RunResult

Read = Callable[[Point], float | None]
PANELS: tuple[tuple[str, Read], ...] = (
    ("success of greedy play", lambda point: point.success),
    ("turns per episode", lambda point: point.turns),
)
_GRID = 60


def write_curves(study: Study, found: Sequence[RunResult], path: Path) -> None:
    """Draw the curves of all arms that were trained."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "study", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(1, len(PANELS), figsize=(10, 3.6), layout="constrained")
        for axis, (title, read) in zip(axes, PANELS, strict=True):
            _panel(axis, study, found, title, read)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)


def _panel(axis: Any, study: Study, found: Sequence[RunResult], title: str, read: Read) -> None:
    for arm in dict.fromkeys(item.arm for item in found):
        curves = [curve(item.points, read) for item in found if item.arm == arm]
        known = [(x, y) for x, y in curves if len(x) > 1]
        if known:
            _line(axis, known, study.plan.arms[arm].title)
    axis.set_title(title)
    axis.set_xlabel("candidates generated in training")
    axis.grid(alpha=0.3)
    if read is PANELS[0][1]:
        axis.set_ylim(0.0, 1.0)


def curve(points: Sequence[Point], read: Read) -> tuple[list[int], list[float]]:
    """Candidates and values of the points that have one."""
    known = [(point.candidates, value) for point in points if (value := read(point)) is not None]
    return [x for x, _ in known], [y for _, y in known]


def _line(axis: Any, curves: Sequence[tuple[list[int], list[float]]], label: str) -> None:
    grid = np.linspace(0.0, min(x[-1] for x, _ in curves), _GRID)
    values = np.array([np.interp(grid, x, y) for x, y in curves])
    (line,) = axis.plot(grid, values.mean(axis=0), label=label)
    axis.fill_between(
        grid, values.min(axis=0), values.max(axis=0), color=line.get_color(), alpha=0.15, lw=0
    )
