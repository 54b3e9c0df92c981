"""The charts of a report: one experiment by role, or several side by side, mean over seeds."""

from collections.abc import Callable, Mapping, Sequence

from components.reporting.budget import candidates_by_iteration
from components.reporting.experiments import Experiment
from components.reporting.figure import COLOURS, Chart, Curve, Point, bar_chart, line_chart
from components.reporting.spread import mean_over_seeds, standardised, success_over_seeds
from components.reporting.summary import IterationRow, RunSummary, series

Read = Callable[[IterationRow], float | None]
PERCENT = {"yaxis": {"range": [-2, 102], "rangemode": "normal"}}
METRICS = (
    ("Reward per role", "Mean over the answers trained on.", "reward", "rollout", "reward/mean"),
    ("Groups without variance", "Share of groups whose rewards are all equal: no signal.",
     "share", "grouping", "frac_reward_zero_std"),
    ("KL to the sampling policy", "Mean over the update's tokens.", "nats per token", "update",
     "kl"),
    ("Clipped tokens", "Share of tokens whose ratio left the clip range.", "share", "update",
     "clip_ratio"),
    ("Entropy", "Of the next token, mean over the update's tokens.", "nats per token", "update",
     "entropy"),
    ("Gradient norm", "Before clipping, mean over the update's steps.", "norm", "update",
     "grad_norm"),
)  # fmt: skip
"""(title, note, y axis, step, metric)"""


def charts(found: Sequence[Experiment]) -> list[Chart]:
    """All charts that have at least one value, in reading order."""
    drawn = [
        success(found),
        success_by_budget(found),
        row_chart(found, "Turns to solve", "Mean turns of the held-out tasks that were solved.",
                  "turns", lambda row: row.turns_to_solve),
        row_chart(found, "Turns per episode", "Mean over all held-out tasks.", "turns",
                  lambda row: row.turns_mean),
        role_chart(found, "Standardised reward per role",
                   "Each run's mean rewards minus their mean over iterations, over their "
                   "standard deviation: how the roles learn beside each other.",
                   "standard deviations", "rollout", "reward/mean", standardise=True),
        *(role_chart(found, *metric) for metric in METRICS),
        row_chart(found, "Rollout throughput", "Generated tokens per second.", "tokens/s",
                  lambda row: row.metrics.get("rollout/tokens_per_s")),
        stage_times(found),
    ]  # fmt: skip
    return [chart for chart in drawn if chart.data]


_CROSS = {
    "type": "scatter", "mode": "markers", "x": [None], "y": [None], "name": "policies swapped",
    "legendgroup": "swapped", "showlegend": True,
    "marker": {"symbol": "x", "size": 11, "color": "var(--ink)"},
}  # fmt: skip
"""In the legend, for the crosses have their experiments' colours."""


def success(found: Sequence[Experiment]) -> Chart:
    """Success on held-out tasks with its band; of one experiment each environment too; the
    swapped team as a cross."""
    curves = [Curve(item.label if len(found) > 1 else "team", success_points(item), place)
              for place, item in enumerate(found)]  # fmt: skip
    if len(found) == 1 and len(found[0].config.environments) > 1:
        names = [f"validation/{name}" for name in found[0].config.environments]
        curves += [Curve(name.partition("/")[2], success_points(found[0], name), place, 1)
                   for place, name in enumerate(names, 1)]  # fmt: skip
    note = f"Greedy play on held-out validation tasks; {interval_note(found)}."
    chart = line_chart("Success", note, "solved tasks, %", curves, layout=PERCENT, wide=True)
    crosses = [cross for place, item in enumerate(found) if (cross := swapped(item, place))]
    chart.data.extend([*crosses, *([_CROSS] if crosses else [])])
    return chart


def success_points(item: Experiment, benchmark: str = "validation") -> list[Point]:
    """One per iteration that some seed was evaluated at."""
    points = []
    for iteration in iterations(item):
        rows = [row for run in item.runs for row in run.rows if row.iteration == iteration]
        results = [row.held_out[benchmark] for row in rows if benchmark in row.held_out]
        if results:
            value, low, high = success_over_seeds(results, item.confidence)
            points.append(Point(iteration, 100 * value, 100 * low, 100 * high))
    return points


def success_by_budget(found: Sequence[Experiment]) -> Chart:
    """Success over generated candidates: experiments of different cost on one axis."""
    curves = []
    for place, item in enumerate(found):
        budget = [
            dict(
                zip((row.iteration for row in run.rows), candidates_by_iteration(run), strict=True)
            )
            for run in item.runs
        ]
        points = []
        for point in success_points(item):
            spent = [own[int(point.x)] for own in budget if int(point.x) in own]
            points.append(point._replace(x=sum(spent) / len(spent)))
        curves.append(Curve(item.label if len(found) > 1 else "team", points, place))
    note = f"The same over the sampling budget; {interval_note(found)}."
    title = "Success over candidates"
    axis = "candidates generated in training"
    return line_chart(title, note, "solved tasks, %", curves, axis, PERCENT)


def row_chart(found: Sequence[Experiment], title: str, note: str, axis: str, read: Read) -> Chart:
    """One line per experiment."""
    curves = [
        Curve(item.label if len(found) > 1 else "team", over_seeds(item, values), place)
        for place, item in enumerate(found)
        if (values := [_read(run, read) for run in item.runs])
    ]
    return line_chart(title, note, axis, curves)


def role_chart(
    found: Sequence[Experiment],
    title: str,
    note: str,
    axis: str,
    step: str,
    name: str,
    standardise: bool = False,
) -> Chart:
    """One line per role or policy; of several experiments their colour, the role by its dash."""
    curves = []
    for place, item in enumerate(found):
        owners = _owners(item, step, name)
        for number, owner in enumerate(owners):
            values = [_of_owner(run, step, name, owner) for run in item.runs]
            if standardise:
                values = [
                    dict(zip(own, standardised(list(own.values())), strict=True)) for own in values
                ]
            label, colour, dash = (
                (owner, _place(item, owner, number), 0) if len(found) == 1
                else (f"{item.label}, {owner}", place, number)
            )  # fmt: skip
            curves.append(Curve(label, over_seeds(item, values), colour, dash))
    layout = {"yaxis": {"rangemode": "normal"}} if standardise else None
    return line_chart(title, note, axis, curves, layout=layout)


def over_seeds(item: Experiment, values: Sequence[Mapping[int, float]]) -> list[Point]:
    """iteration -> value of every run, as means with Student's interval."""
    points = []
    for iteration in iterations(item):
        known = [own[iteration] for own in values if iteration in own]
        if known:
            points.append(Point(iteration, *mean_over_seeds(known, item.confidence)))
    return points


def stage_times(found: Sequence[Experiment]) -> Chart:
    """Seconds of each step: by iteration, or of several experiments the mean iteration's."""
    if len(found) == 1 and len(found[0].runs) == 1:
        rows = found[0].runs[0].rows
        names = dict.fromkeys(step for row in rows for step in row.step_s)
        bars = {step: {str(row.iteration): row.step_s.get(step, 0.0) for row in rows}
                for step in names}  # fmt: skip
        note = "Wall seconds inside the steps of each iteration."
        return bar_chart("Time per stage", note, "seconds", bars, "iteration")
    means = {item.label: _mean_step_s(item) for item in found}
    steps = dict.fromkeys(step for own in means.values() for step in own)
    bars = {step: {label: own.get(step, 0.0) for label, own in means.items()} for step in steps}
    note = "Wall seconds inside the steps, mean over iterations (from 1 on) and seeds."
    return bar_chart("Time per stage", note, "seconds", bars, "experiment")


def swapped(item: Experiment, place: int) -> dict[str, object] | None:
    """The trained team with its policies exchanged, at the last iteration."""
    results = [run.final["validation/swapped"] for run in item.runs
               if "validation/swapped" in run.final]  # fmt: skip
    if not results:
        return None
    value, low, high = (100 * end for end in success_over_seeds(results, item.confidence))
    colour = f"var(--c{place % COLOURS})"
    return {
        "type": "scatter", "mode": "markers", "x": [max(iterations(item))], "y": [value],
        "name": "policies swapped", "legendgroup": "swapped", "showlegend": False,
        "marker": {"symbol": "x", "size": 11, "color": colour},
        "error_y": {"type": "data", "symmetric": False, "array": [high - value],
                    "arrayminus": [value - low], "color": colour},
    }  # fmt: skip


def interval_note(found: Sequence[Experiment]) -> str:
    """What the bands are."""
    confidence = f"{found[0].confidence:.0%}" if found else "95%"
    seeds = max((len(item.runs) for item in found), default=1)
    if seeds == 1:
        return f"{confidence} interval (Wilson, over tasks)"
    return (
        f"mean and {confidence} interval over up to {seeds} seeds (Student's t; a seed counts "
        "once, as all play the same tasks); of one seed over its tasks (Wilson)"
    )


def iterations(item: Experiment) -> list[int]:
    """All iterations that some run has."""
    return sorted({row.iteration for run in item.runs for row in run.rows})


def _read(run: RunSummary, read: Read) -> dict[int, float]:
    values = {row.iteration: read(row) for row in run.rows}
    return {iteration: value for iteration, value in values.items() if value is not None}


def _owners(item: Experiment, step: str, name: str) -> list[str]:
    """Roles (of updates: policies) with the metric, in the configuration's order, then others."""
    has = dict.fromkeys(
        owner for run in item.runs for row in run.rows for owner in series(row.metrics, step, name)
    )
    known = [owner for owner in (*item.config.roles, *item.config.policies) if owner in has]
    return list(dict.fromkeys([*known, *has]))


def _of_owner(run: RunSummary, step: str, name: str, owner: str) -> dict[int, float]:
    metric = f"{step}/{owner}/{name}"
    return {row.iteration: row.metrics[metric] for row in run.rows if metric in row.metrics}


def _place(item: Experiment, owner: str, number: int) -> int:
    """A role and the policy that it plays with have one colour everywhere."""
    roles = list(item.config.roles)
    played = [role for role in roles if owner in (role, item.config.roles[role])]
    return roles.index(played[0]) if played else number


def _mean_step_s(item: Experiment) -> dict[str, float]:
    rows = [row for run in item.runs for row in run.rows if row.iteration > 0]
    steps = dict.fromkeys(step for row in rows for step in row.step_s)
    return {step: sum(row.step_s.get(step, 0.0) for row in rows) / len(rows) for step in steps}
