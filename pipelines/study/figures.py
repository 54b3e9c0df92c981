"""A study's curves as SVG, over the generated candidates.

`write_curves`: success and turns by arm, the band from the worst seed to the best. `write_rewards`:
how the rewards of an arm's roles rise against each other. Lines are straight between points.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, pstdev
from textwrap import fill
from typing import Any

import numpy as np

from pipelines.study.plan import Study
from pipelines.study.results import Point, RunResult

Read = Callable[[Point], float | None]
Curve = tuple[list[int], list[float]]
"""Candidates, and the value at each."""
PANELS: tuple[tuple[str, Read], ...] = (
    ("success of greedy play", lambda point: point.success),
    ("turns to solve", lambda point: point.turns_to_solve),
)
STYLES = ("-", "--", ":")
"""One after the other, when all colours are taken."""
_COLOURS = 10
_LEGEND_COLUMNS = 2
_GRID = 60
_COLUMNS = 3


def write_curves(study: Study, found: Sequence[RunResult], path: Path) -> None:
    """Draw success and turns of all arms that were trained."""
    height = 3.2 + 0.3 * math.ceil(len(_arms(found)) / _LEGEND_COLUMNS)
    with _axes(1, len(PANELS), height, path) as (figure, axes):
        for axis, (title, read) in zip(axes, PANELS, strict=True):
            _panel(axis, study, found, title, read)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, [fill(label, 66) for label in labels], loc="outside lower center",
            ncols=_LEGEND_COLUMNS, fontsize=8,
        )  # fmt: skip


def write_rewards(study: Study, found: Sequence[RunResult], path: Path) -> bool:
    """Draw every role's standardised reward, a panel for each arm that was trained.

    False if there is none. Of one run and role: its mean rewards of the iterations, minus their
    mean, by their standard deviation; so it is seen which role learns when, not how much.
    """
    trained = [arm for arm in _arms(found) if _roles([r for r in found if r.arm == arm])]
    if not trained:
        return False
    rows = math.ceil(len(trained) / _COLUMNS)
    with _axes(rows, _COLUMNS, 2.3 * rows, path) as (_, axes):
        for axis in axes[len(trained) :]:
            axis.set_visible(False)
        for axis, arm in zip(axes, trained, strict=False):
            runs = [item for item in found if item.arm == arm]
            for role in _roles(runs):
                _line(axis, [standardised(run.points, role) for run in runs], role)
            axis.set_title(fill(study.plan.arms[arm].title, 48), fontsize=8)
            axis.grid(alpha=0.3)
            axis.legend(fontsize=7)
            axis.locator_params(axis="x", nbins=5)  # side by side more labels run into each other
        axes[0].figure.supxlabel("candidates generated in training")
        axes[0].figure.supylabel("standard deviations from a run's mean")
    return True


def standardised(points: Sequence[Point], role: str) -> Curve:
    """A role's mean reward of every iteration in standard deviations from the run's mean."""
    candidates, rewards = curve(points, lambda point: point.reward.get(role))
    mean, deviation = fmean(rewards), pstdev(rewards)
    return candidates, [(value - mean) / deviation if deviation else 0.0 for value in rewards]


def curve(points: Sequence[Point], read: Read) -> Curve:
    """Candidates and values of the points that have one."""
    known = [(point.candidates, value) for point in points if (value := read(point)) is not None]
    return [x for x, _ in known], [y for _, y in known]


@contextmanager
def _axes(rows: int, columns: int, height: float, path: Path) -> Iterator[tuple[Any, list[Any]]]:
    """An empty figure and its axes, row by row; written to `path`: equal content, equal bytes."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "study", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(
            rows, columns, figsize=(10, height), layout="constrained", squeeze=False
        )
        yield figure, list(axes.flat)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)


def _panel(axis: Any, study: Study, found: Sequence[RunResult], title: str, read: Read) -> None:
    drawn = 0
    for arm in _arms(found):
        curves = [curve(item.points, read) for item in found if item.arm == arm]
        known = [(x, y) for x, y in curves if len(x) > 1]
        if known:
            _line(axis, known, study.plan.arms[arm].title, STYLES[drawn // _COLOURS % len(STYLES)])
            drawn += 1
    axis.set_title(title)
    axis.set_xlabel("candidates generated in training")
    axis.grid(alpha=0.3)
    if read is PANELS[0][1]:
        axis.set_ylim(0.0, 1.0)


def _arms(found: Sequence[RunResult]) -> list[str]:
    return list(dict.fromkeys(item.arm for item in found))


def _roles(runs: Sequence[RunResult]) -> list[str]:
    """Roles whose rewards every one of the runs has of two iterations or more."""
    roles = dict.fromkeys(role for run in runs for point in run.points for role in point.reward)
    return [
        role
        for role in roles
        if all(sum(role in point.reward for point in run.points) > 1 for run in runs)
    ]


def _line(axis: Any, curves: Sequence[Curve], label: str, style: str = "-") -> None:
    grid = np.linspace(max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves), _GRID)
    values = np.array([np.interp(grid, x, y) for x, y in curves])
    (line,) = axis.plot(grid, values.mean(axis=0), style, label=label)
    axis.fill_between(
        grid, values.min(axis=0), values.max(axis=0), color=line.get_color(), alpha=0.15, lw=0
    )
