"""A study's results as Markdown: the arms, and the claims with what came of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from components.intervals import Interval
from pipelines.study.claims import Finding, over_seeds
from pipelines.study.plan import Study
from pipelines.study.results import RunResult, mean


@dataclass(frozen=True)
class Column:
    """A figure of each run, shown as its mean over an arm's seeds."""

    title: str
    read: Callable[[RunResult], float | None]
    form: str


COLUMNS = (
    Column("turns to solve", lambda run: run.points[-1].turns_to_solve, ".2f"),
    Column("visits", lambda run: run.visits, ".2f"),
    Column("longer", lambda run: run.longer, "+.2f"),
    Column("iterations", lambda run: run.num_iterations or None, ".0f"),
    Column("updates", lambda run: run.num_updates, ".0f"),
    Column("candidates", lambda run: run.points[-1].candidates, ",.0f"),
    Column("tokens", lambda run: run.points[-1].tokens, ",.0f"),
    Column("CPU min", lambda run: run.cpu_s / 60, ".1f"),
)
MEASURES = (
    ("start", "before"),
    ("validation", "after"),
    ("training", "over training"),
    ("test", "test split"),
    ("validation/swapped", "swapped"),
)


def arms_table(study: Study, found: Sequence[RunResult]) -> str:
    """Success of every arm, mean over seeds with its interval, and what it took.

    Columns that no arm has are left out.
    """
    shown = [
        (measure, title)
        for measure, title in MEASURES
        if any(item.measure(measure) is not None for item in found)
    ]
    columns = [column for column in COLUMNS if any(column.read(item) is not None for item in found)]
    head = ["arm", "seeds", *(title for _, title in shown), *(it.title for it in columns)]
    rows = [
        [
            study.plan.arms[arm].title,
            str(sum(item.arm == arm for item in found)),
            *(rate(over_seeds(found, arm, name, study.confidence)) for name, _ in shown),
            *(_cell(column, [item for item in found if item.arm == arm]) for column in columns),
        ]
        for arm in dict.fromkeys(item.arm for item in found)
    ]
    return markdown(head, rows)


def _cell(column: Column, runs: Sequence[RunResult]) -> str:
    average = mean(value for run in runs if (value := column.read(run)) is not None)
    return "-" if average is None else format(average, column.form)


def claims_table(found: Sequence[Finding]) -> str:
    """Every claim: the paper's figures, ours, the difference over seeds, the verdict."""
    head = ["claim", "paper", "here", "difference", "verdict", "difference over training"]
    return markdown(head, [_claim_row(finding) for finding in found])


def _claim_row(finding: Finding) -> list[str]:
    claim = finding.claim
    if finding.first is None or finding.second is None:
        return [claim.text, claim.paper or "-", "-", "-", finding.verdict, "-"]
    here = f"{finding.first:.1%} vs {finding.second:.1%}"
    shown = [points(finding.difference), finding.verdict, points(finding.learning)]
    return [claim.text, claim.paper or "-", here, *shown]


def rate(interval: Interval | None) -> str:
    """`96.7 % (93.5 - 99.8)`; the interval is left out where nothing is known of it."""
    if interval is None:
        return "-"
    mean, low, high = (100 * value for value in interval)
    return f"{mean:.1f} %" if math.isinf(high) else f"{mean:.1f} % ({low:.1f} - {high:.1f})"


def note(study: Study) -> str:
    """What the intervals are."""
    return (
        f"In brackets the {study.confidence:.0%} interval over seeds (Student's t; all seeds play "
        "the same held-out tasks, so a seed counts once); of one seed over its tasks (Wilson). "
        "Over training: the mean of validation's curve over the budget, so that of two teams "
        "which end alike the one that needs fewer answers is ahead. Visits, longer: how far the "
        "prompts of training are from those of greedy play by role and turn (0: equal shares), "
        "and by how many turns its episodes are longer. Updates: optimiser steps per policy. "
        "Candidates, tokens: of the answers generated in training."
    )


def points(interval: Interval | None) -> str:
    """A difference in percentage points."""
    if interval is None:
        return "-"
    mean, low, high = (100 * value for value in interval)
    if math.isinf(high):
        return f"{mean:+.1f}"
    return f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
