"""The tables of results: method by environment, what it cost, the groups' signal."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from components.intervals import Interval
from components.reporting.budget import Hardware, Spent, spent
from components.reporting.experiments import Experiment
from components.reporting.methods import rank, trained, untrained
from components.reporting.signal import Signal
from components.reporting.spread import success_over_seeds
from components.reporting.summary import Result, RunSummary
from components.reporting.table import MISSING

Cells = Mapping[str, str]
"""Column -> text."""
Row = tuple[str, Cells]
BENCHMARK = "validation"
PRICED = ("GPU-hours", "cost", "cost per point")
"""Columns of the cost table that a laptop leaves out."""


def methods_table(found: Sequence[Experiment]) -> tuple[list[str], list[list[str]]]:
    """Method x environment in per cent with interval, as the paper has it; (head, body).

    Held-out validation tasks for every row; the test split, which only trained teams play, beside
    it. Teams of one method that differ in settings keep rows of their own.
    """
    rows = [row for item in found for row in _rows(item, len(found) > 1)]
    unique = list({(name, tuple(cells.items())): (name, cells) for name, cells in rows}.values())
    unique.sort(key=lambda row: rank(row[0]))
    columns = list(dict.fromkeys(column for _, cells in unique for column in cells))
    body = [[name, *(cells.get(column, MISSING) for column in columns)] for name, cells in unique]
    return ["method", *columns], body


def cost_table(
    found: Sequence[Experiment], hardware: Hardware
) -> tuple[list[str], list[list[str]]]:
    """Sampling budget, hours and money of a run, mean over seeds, and per point of success."""
    head = [
        "experiment", "seeds", "candidates", "tokens", "held-out tokens", "hours", "CPU-hours",
        "GPU-hours", "cost", "points gained", "candidates per point", "hours per point",
        "cost per point",
    ]  # fmt: skip
    body = [_cost_row(item, hardware) for item in found]
    kept = [
        column
        for column, name in enumerate(head)
        if name not in PRICED or any(row[column] != MISSING for row in body)
    ]
    return [head[column] for column in kept], [[row[column] for column in kept] for row in body]


def signal_table(found: Sequence[Experiment]) -> tuple[list[str], list[list[str]]]:
    """Groups by role and turn: how many, how large, how many without variance, over training."""
    head = [
        "role", "turn", "groups", "samples", "group size", "mean std of rewards",
        "without variance", "in the first iteration", "in the last",
    ]  # fmt: skip
    return head, [row for item in found for row in _signal_rows(item, len(found) > 1)]


def before_and_after(run: RunSummary) -> tuple[Result, Result] | None:
    """Validation play of the first evaluated team and of the last, which may be the same one."""
    played = [row.held_out[BENCHMARK] for row in run.evaluated if BENCHMARK in row.held_out]
    return (played[0], played[-1]) if played else None


def gained(run: RunSummary) -> float | None:
    """Points of success between the two; None with fewer than two evaluated teams."""
    ends = before_and_after(run)
    if ends is None or len(run.evaluated) < 2:
        return None
    return 100 * (ends[1].success - ends[0].success)


def costs(item: Experiment, hardware: Hardware) -> tuple[list[Spent], float | None]:
    """What every run spent, and the mean gain; only runs whose gain is known, if any has one, so
    that what is divided by the gain is what it cost."""
    gains = [gained(run) for run in item.runs]
    known = [gain for gain in gains if gain is not None]
    runs = [
        run for run, gain in zip(item.runs, gains, strict=True) if gain is not None or not known
    ]
    return [spent(run, hardware) for run in runs], fmean(known) if known else None


def rate(value: Interval, num_seeds: int) -> str:
    """`96.7 (93.4 to 98.4), 3 seeds`."""
    seeds = f", {num_seeds} seeds" if num_seeds > 1 else ""
    return f"{100 * value.estimate:.1f} ({100 * value.low:.1f} to {100 * value.high:.1f}){seeds}"


def _rows(item: Experiment, several: bool) -> Iterable[Row]:
    config = item.config
    label = f" [{item.label}]" if several else ""
    first = [run.evaluated[0].held_out for run in item.runs if run.evaluated]
    ends = [run.evaluated[-1] for run in item.runs if run.evaluated]
    last = [row.held_out for row in ends if row.iteration]
    begun = all(run.evaluated[0].iteration == 0 for run in item.runs if run.evaluated)
    if first and begun:
        yield f"{untrained(config)}{label}", _cells(item, first, "validation")
    if last:
        cells = _cells(item, last, "validation") | _cells(item, last, "test")
        extra = {name: _cell(item, last, name) for name in config.evaluation.benchmarks}
        cells |= {name: text for name, text in extra.items() if text}
        yield f"{trained(config)}{label}", cells
    exchanged = _cells(item, last, "validation/swapped")
    if exchanged:
        yield f"{trained(config)}{label}, policies swapped", exchanged


def _cells(
    item: Experiment, results: Sequence[Mapping[str, Result]], benchmark: str
) -> dict[str, str]:
    """One per environment of the experiment: `plan_path` on validation, `plan_path test`."""
    names = list(item.config.environments)
    found = {}
    for name in names:
        key = benchmark if len(names) == 1 else f"{benchmark}/{name}"
        column = f"{name} test" if benchmark == "test" else name
        text = _cell(item, results, key)
        if text:
            found[column] = text
    return found


def _cell(item: Experiment, results: Sequence[Mapping[str, Result]], benchmark: str) -> str:
    own = [result[benchmark] for result in results if benchmark in result]
    return rate(success_over_seeds(own, item.confidence), len(own)) if own else ""


def _cost_row(item: Experiment, hardware: Hardware) -> list[str]:
    each, gain = costs(item, hardware)
    money = [one.money for one in each if one.money is not None]
    uses_gpus = any(one.gpu_h > 0.0 for one in each)
    hours = _mean(each, "gpu_h" if uses_gpus else "cpu_h")
    cost = fmean(money) if len(money) == len(each) and money else None
    return [
        item.label, str(len(each)), f"{_mean(each, 'candidates'):,.0f}",
        f"{_mean(each, 'tokens'):,.0f}", f"{_mean(each, 'held_out_tokens'):,.0f}",
        f"{_mean(each, 'wall_h'):.3g}", f"{_mean(each, 'cpu_h'):.3g}",
        f"{_mean(each, 'gpu_h'):.3g}" if uses_gpus else MISSING, _digits(cost),
        MISSING if gain is None else f"{gain:+.1f}",
        _per_point(_mean(each, "candidates"), gain, ",.0f"),
        _per_point(hours, gain, ".3g", " GPU" if uses_gpus else " CPU"),
        _per_point(cost, gain, ".3g"),
    ]  # fmt: skip


def _mean(each: Sequence[Spent], name: str) -> float:
    return fmean(getattr(one, name) for one in each)


def _per_point(value: float | None, gain: float | None, form: str, unit: str = "") -> str:
    """Of a gain only: a team that got worse has no price per point."""
    return MISSING if value is None or not gain or gain <= 0.0 else f"{value / gain:{form}}{unit}"


def _digits(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.2f}"


def _signal_rows(item: Experiment, several: bool) -> Iterable[list[str]]:
    every = [(row.iteration, own) for run in item.runs for row in run.rows for own in row.signals]
    if not every:
        return
    first, last = min(i for i, _ in every), max(i for i, _ in every)
    for turn, role in sorted(
        {(own.turn, own.role) for _, own in every},
        key=lambda key: (key[0], list(item.config.roles).index(key[1])
                         if key[1] in item.config.roles else 0),
    ):  # fmt: skip
        mine = [(i, own) for i, own in every if (own.turn, own.role) == (turn, role)]
        groups = sum(own.num_groups for _, own in mine)
        sizes = {own.smallest for _, own in mine} | {own.largest for _, own in mine}
        yield [
            f"{role} [{item.label}]" if several else role, str(turn), f"{groups:,}",
            f"{sum(own.num_samples for _, own in mine):,}",
            str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}",
            f"{sum(own.reward_std * own.num_groups for _, own in mine) / groups:.3f}",
            *(_share([own for i, own in mine if i in some])
              for some in (range(first, last + 1), [first], [last])),
        ]  # fmt: skip


def _share(own: Sequence[Signal]) -> str:
    groups = sum(one.num_groups for one in own)
    if not groups:
        return MISSING
    return f"{sum(one.zero_variance * one.num_groups for one in own) / groups:.0%}"
