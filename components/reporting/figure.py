"""A chart as plain data: Plotly traces, one sentence for those who cannot see it, and its numbers.

Colours are CSS variables, `var(--c1)`; the page puts in those of the light or the dark theme.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

COLOURS = 8
"""Variables `--c0` to `--c7`; further names begin again."""
HATCHES = ("", "/", "x")
"""Of bars, each time the colours begin again."""
DASHES = ("solid", "dash", "dot", "dashdot")
SHADE = 0.15
"""Opacity of an interval's band."""
DUST = 1e-12
"""Smaller values are what rounding leaves of sums that are 0 on paper."""


class Point(NamedTuple):
    """A value at x with its interval; without one `low` and `high` are the value."""

    x: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """One line with its band."""

    name: str
    points: Sequence[Point]
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True)
class Chart:
    """A figure and what it shows."""

    title: str
    note: str
    """One sentence under the title."""
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    alt: str
    """What a reader who does not see the figure hears."""
    head: Sequence[str] = ()
    body: Sequence[Sequence[str]] = field(default_factory=list)
    """The figure's numbers as a table."""
    wide: bool = False
    """Takes the page's whole width."""


def line_chart(
    title: str,
    note: str,
    axis: str,
    curves: Sequence[Curve],
    x_axis: str = "iteration",
    layout: Mapping[str, Any] | None = None,
    wide: bool = False,
) -> Chart:
    """Lines with bands; curves without points are left out."""
    drawn = [curve for curve in curves if curve.points]
    data = [trace for curve in drawn for trace in _traces(curve, len(drawn) > 1)]
    own: dict[str, Any] = {
        "xaxis": {
            "title": {"text": x_axis},
            **(_whole_ticks(drawn) if x_axis == "iteration" else {}),
        },
        "yaxis": {"title": {"text": axis}, "rangemode": "tozero"},
    }
    for name, value in (layout or {}).items():
        own[name] = {**own.get(name, {}), **value}
    body = [
        [curve.name, number(p.x), number(p.value), _interval(p)]
        for curve in drawn
        for p in curve.points
    ]
    head = ["curve", x_axis, axis, "interval"]
    return Chart(title, note, data, own, _alt(title, axis, drawn), head, body, wide)


def bar_chart(
    title: str,
    note: str,
    axis: str,
    bars: Mapping[str, Mapping[str, float]],
    x_axis: str,
    wide: bool = True,
) -> Chart:
    """Stacked bars: part -> x -> value. Parts beyond the colours have them again, hatched."""
    data = [
        {
            "type": "bar", "name": escape(part), "x": list(values), "y": list(values.values()),
            "marker": {"color": f"var(--c{place % COLOURS})",
                       "pattern": {"shape": HATCHES[place // COLOURS % len(HATCHES)]}},
        }
        for place, (part, values) in enumerate(bars.items())
    ]  # fmt: skip
    layout = {
        "barmode": "stack", "hovermode": "x unified", "bargap": 0.3,
        "xaxis": {"title": {"text": x_axis}, "type": "category"},
        "yaxis": {"title": {"text": axis}},
    }  # fmt: skip
    totals = {part: sum(values.values()) for part, values in bars.items()}
    most = ", ".join(f"{p} {number(t)}" for p, t in sorted(totals.items(), key=lambda i: -i[1])[:4])
    body = [[p, x, number(v)] for p, values in bars.items() for x, v in values.items()]
    alt = f"Bar chart, {title}, in {axis}; in total: {most}."
    return Chart(title, note, data, layout, alt, ["part", x_axis, axis], body, wide)


def number(value: float) -> str:
    """At most four significant digits."""
    value = _clean(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def _whole_ticks(curves: Sequence[Curve]) -> dict[str, Any]:
    """Of iterations: no half ones, which would be labelled as whole ones."""
    places = [point.x for curve in curves for point in curve.points]
    span = max(places, default=0.0) - min(places, default=0.0)
    steps = (base * 10**power for power in range(9) for base in (1, 2, 5))
    return {"tick0": 0, "dtick": next(step for step in steps if span <= 8 * step)}


def _traces(curve: Curve, legend: bool) -> list[dict[str, Any]]:
    colour = f"var(--c{curve.colour % COLOURS})"
    x = [point.x for point in curve.points]
    line = {
        "type": "scatter", "mode": "lines+markers", "name": escape(curve.name), "x": x,
        "y": [_clean(point.value) for point in curve.points], "showlegend": legend,
        "legendgroup": escape(curve.name),
        "line": {"color": colour, "width": 2.5, "dash": DASHES[curve.dash % len(DASHES)]},
        "marker": {"size": 6},
    }  # fmt: skip
    if all(point.low == point.high for point in curve.points):
        return [line]
    band = {
        "type": "scatter", "mode": "lines", "x": [*x, *x[::-1]], "fill": "toself",
        "y": [*(p.high for p in curve.points), *(p.low for p in reversed(curve.points))],
        "line": {"width": 0}, "fillcolor": f"{colour}/{SHADE}", "hoverinfo": "skip",
        "showlegend": False, "legendgroup": escape(curve.name),
    }  # fmt: skip
    return [band, line]


def _clean(value: float) -> float:
    """The figure shows the number itself when it is pointed at."""
    return 0.0 if abs(value) < DUST else value


def _interval(point: Point) -> str:
    return f"{number(point.low)} to {number(point.high)}" if point.low != point.high else ""


def _alt(title: str, axis: str, curves: Sequence[Curve]) -> str:
    said = "; ".join(
        f"{curve.name} from {number(curve.points[0].value)} to {number(curve.points[-1].value)}"
        for curve in curves[:6]
    )
    return f"Line chart, {title}, in {axis}: {said}." if said else title
