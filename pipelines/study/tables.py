"""A study's results as Markdown: the arms, and the claims with what came of them."""

import math
from collections.abc import Sequence

from components.intervals import Interval
from pipelines.study.plan import Study
from pipelines.study.results import Finding, RunResult, over_seeds

MEASURES = (
    ("start", "before"),
    ("validation", "after"),
    ("training", "over training"),
    ("test", "test split"),
    ("validation/swapped", "swapped"),
)


def arms_table(study: Study, found: Sequence[RunResult]) -> str:
    """Success of every arm, mean over seeds with its interval, and what it took.

    `visits`, where it is known: how far training's prompts were from those of greedy play.
    """
    shown = [
        (measure, title)
        for measure, title in MEASURES
        if any(item.measure(measure) is not None for item in found)
    ]
    titles = [title for _, title in shown]
    visits = ["visits"] if any(item.visits is not None for item in found) else []
    head = ["arm", "seeds", *titles, "turns", *visits, "candidates", "tokens", "CPU min"]
    measures = [measure for measure, _ in shown]
    rows = [_arm_row(study, found, arm, measures, bool(visits)) for arm in _arms(found)]
    return markdown(head, rows)


def _arms(found: Sequence[RunResult]) -> list[str]:
    return list(dict.fromkeys(item.arm for item in found))


def _arm_row(
    study: Study, found: Sequence[RunResult], arm: str, measures: Sequence[str], with_visits: bool
) -> list[str]:
    mine = [item for item in found if item.arm == arm]
    last = [item.points[-1] for item in mine]
    turns = [point.turns for point in last if point.turns is not None]
    visits = [item.visits for item in mine if item.visits is not None]
    return [
        study.plan.arms[arm].title,
        str(len(mine)),
        *[rate(over_seeds(found, arm, measure, study.confidence)) for measure in measures],
        _mean(turns),
        *[_mean(visits)] * with_visits,
        f"{sum(point.candidates for point in last) / len(last):,.0f}",
        f"{sum(point.tokens for point in last) / len(last):,.0f}",
        f"{sum(item.cpu_s for item in mine) / len(mine) / 60:.1f}",
    ]


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.2f}" if values else "-"


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
        "Over training: the mean of validation's curve over the budget, so that of two teams which "
        "end alike the one that needs fewer answers is ahead."
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
