"""The curves of a run as Plotly figures, one idea each. Colours belong to roles, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from components.reporting.summary import IterationRow, RunSummary, series

PALETTE = ("#2563a8", "#d9700f", "#2a8c5f", "#b3408f", "#7a5bd0", "#8a6d1f")
"""Told apart also with a colour-blind eye; roles take them in the configuration's order."""
STEPS = ("#2563a8", "#86b3e0", "#d9700f", "#f2b37a", "#2a8c5f", "#8fcbae", "#b3408f", "#dfa3cd")
INK, GRID = "#1f2933", "#e4e7eb"
TEAM, SWAPPED = "#3b4b5f", "#c62828"
"""What belongs to no single role."""
FONT = {"family": "system-ui, -apple-system, Segoe UI, sans-serif", "size": 14, "color": INK}


@dataclass(frozen=True)
class Chart:
    """A figure and what it shows."""

    title: str
    note: str
    """One sentence under the title."""
    figure: Any
    wide: bool = False
    """Takes the page's whole width."""


def charts(summary: RunSummary) -> list[Chart]:
    """All charts that have at least one value, in reading order."""
    per_role = colours(summary.roles)
    roles, policies = summary.config.roles, summary.config.policies
    owner = {policy: next(r for r in roles if roles[r] == policy) for policy in policies}
    per_policy = {policy: per_role[role] for policy, role in owner.items()}
    drawn = [success(summary), turns(summary)]
    for title, note, axis, step, name, colour in CURVES:
        values = {row.iteration: series(row.metrics, step, name) for row in summary.rows}
        figure = curves(values, axis, per_policy if colour == "policy" else per_role)
        drawn.append(Chart(title, note, figure))
    drawn += [throughput(summary.rows), step_times(summary.rows)]
    for chart in drawn:
        chart.figure.update_xaxes(range=[-0.5, len(summary.rows) - 0.5])
    return [chart for chart in drawn if chart.figure.data]


CURVES = (
    ("Reward per role", "Mean over the answers trained on.", "reward", "rollout", "reward/mean",
     "role"),
    ("Groups without signal", "Share of groups whose rewards are all equal.", "share",
     "grouping", "frac_reward_zero_std", "role"),
    ("KL to the sampling policy", "Mean over the update's tokens.", "nats per token", "update",
     "kl", "policy"),
    ("Clipped tokens", "Share of tokens whose ratio left the clip range.", "share", "update",
     "clip_ratio", "policy"),
    ("Entropy", "Of the next token, mean over the update's tokens.", "nats per token", "update",
     "entropy", "policy"),
    ("Gradient norm", "Before clipping, mean over the update's steps.", "norm", "update",
     "grad_norm", "policy"),
)  # fmt: skip
"""(title, note, y axis, step, metric, whose)"""


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, by position."""
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(names)}


def success(summary: RunSummary) -> Chart:
    """Success on held-out tasks with its band; the swapped team as a cross."""
    rows, figure = summary.evaluated, blank("solved tasks, %")
    x = [row.iteration for row in rows]
    confidence = f"{summary.config.evaluation.confidence:.0%}"
    if rows:
        low, high = ([100 * (getattr(row, end) or 0.0) for row in rows] for end in ("low", "high"))
        figure.add_scatter(
            x=[*x, *x[::-1]], y=[*high, *low[::-1]], mode="lines", fill="toself", line_width=0,
            fillcolor="rgba(59,75,95,0.16)", name=f"{confidence} interval", hoverinfo="skip",
        )  # fmt: skip
        y = [100 * (row.success or 0.0) for row in rows]
        figure.add_scatter(x=x, y=y, name="team", mode="lines+markers", line=_line(TEAM))
    swapped = summary.final.get("validation/swapped")
    if swapped and rows:
        figure.add_scatter(
            x=[x[-1]], y=[100 * swapped.success], mode="markers", name="policies swapped",
            marker={"symbol": "x", "size": 12, "color": SWAPPED},
        )  # fmt: skip
    figure.update_yaxes(range=[-2, 102])
    note = f"Greedy play on held-out validation tasks, {confidence} interval."
    return Chart("Success", note, figure, wide=True)


def turns(summary: RunSummary) -> Chart:
    """Turns per held-out episode."""
    values = {row.iteration: {"team": row.turns_mean or 0.0} for row in summary.evaluated}
    figure = curves(values, "turns", {"team": TEAM})
    return Chart("Turns per episode", "Mean over the same held-out tasks.", figure)


def curves(
    values: Mapping[int, Mapping[str, float]], axis: str, colour: Mapping[str, str]
) -> go.Figure:
    """One line per name; `values` is iteration -> name -> value."""
    figure = blank(axis)
    names = dict.fromkeys(name for found in values.values() for name in found)
    for name in [*(n for n in colour if n in names), *(n for n in names if n not in colour)]:
        points = [(i, found[name]) for i, found in values.items() if name in found]
        figure.add_scatter(
            x=[i for i, _ in points], y=[value for _, value in points], name=escape(name),
            mode="lines+markers", line=_line(colour.get(name, INK)), showlegend=len(names) > 1,
        )  # fmt: skip
    figure.update_yaxes(rangemode="tozero")
    return figure


def step_times(rows: Sequence[IterationRow]) -> Chart:
    """Seconds of each step, stacked."""
    figure = blank("seconds")
    names = dict.fromkeys(step for row in rows for step in row.step_s)
    for index, step in enumerate(names):
        figure.add_bar(
            x=[row.iteration for row in rows], y=[row.step_s.get(step, 0.0) for row in rows],
            name=escape(step), marker_color=STEPS[index % len(STEPS)],
        )  # fmt: skip
    figure.update_layout(barmode="stack", hovermode="x unified", bargap=0.3)
    note = "Wall seconds inside the steps of each iteration."
    return Chart("Time per step", note, figure, wide=True)


def throughput(rows: Sequence[IterationRow]) -> Chart:
    """Generated tokens per second of the rollout."""
    name = "rollout/tokens_per_s"
    values = {r.iteration: {"rollout": r.metrics[name]} for r in rows if name in r.metrics}
    figure = curves(values, "tokens/s", {"rollout": TEAM})
    return Chart("Rollout throughput", "Generated tokens per second.", figure)


def blank(axis: str) -> go.Figure:
    """An empty figure in the page's style, over iterations."""
    figure = go.Figure()
    figure.update_layout(
        font=FONT, plot_bgcolor="white", paper_bgcolor="white", height=320, hovermode="x",
        margin={"l": 64, "r": 16, "t": 34, "b": 48},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        legend_traceorder="normal",
    )  # fmt: skip
    figure.update_xaxes(
        title="iteration", gridcolor=GRID, zeroline=False, tickformat="d", automargin=True
    )
    figure.update_yaxes(title=axis, gridcolor=GRID, zerolinecolor="#cbd2d9", automargin=True)
    return figure


def _line(colour: str) -> dict[str, Any]:
    return {"color": colour, "width": 2.5}
