"""The run as one self-contained page: headline, curves, tables, certificate, verdict.

Needs no network: Plotly's script is inside the page. Every text is escaped.
"""

from collections.abc import Iterable, Sequence
from html import escape

from components.reporting.summary import Result, RunSummary
from components.reporting.table import MISSING, header, interval, line, number, percent

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; color: #1f2933;
  background: #f5f7fa; margin: 0; }
main { max-width: 1280px; margin: 0 auto; padding: 1.5rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .7rem; }
h3 { font-size: 1.05rem; margin: 0; } .note { color: #52606d; margin: 0; font-size: .92rem; }
.grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.wide { grid-column: 1 / -1; } @media (max-width: 820px) { .grid { grid-template-columns: 1fr; } }
.card { background: white; border: 1px solid #e4e7eb; border-radius: 10px; padding: 1rem 1.1rem; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 1.1rem; }
.cards .card { flex: 1 1 200px; } .big { font-size: 1.55rem; font-weight: 650; margin: .1rem 0; }
.pill { display: inline-block; padding: .15rem .75rem; border-radius: 999px; font-weight: 600;
  font-size: .95rem; }
.good { background: #dcf5e7; color: #14633c; } .bad { background: #fde3e1; color: #9b1c13; }
.idle { background: #e4e7eb; color: #3e4c59; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .8rem; border-bottom: 1px solid #e4e7eb; text-align: right;
  white-space: nowrap; }
th { color: #52606d; font-weight: 600; border-bottom: 2px solid #cbd2d9; }
tr > :first-child, .last tr > :last-child { text-align: left; }
.last tr > :last-child { white-space: normal; }
"""

NAMES = {
    "validation": "trained team, validation",
    "validation/reference": "reference team, validation",
    "validation/swapped": "policies swapped, validation",
    "test": "trained team, test",
}


def html_report(summary: RunSummary) -> str:
    """The whole page as text, about 5 MB, nearly all of it Plotly's script."""
    sections = [
        _head(summary),
        _headline(summary),
        _verdict(summary),
        _final(summary),
        _curves(summary),
        _iterations(summary),
        _certificates(summary),
    ]
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{escape(summary.run)}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(sections)}</main></body></html>"
    )


def table(head: Sequence[str], body: Iterable[Sequence[str]], kind: str = "") -> str:
    """An HTML table; the first column is text, the others numbers (`last`: the last is text)."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in body
    )
    return f"<div class='card scroll'><table class='{kind}'><tr>{top}</tr>{rows}</table></div>"


def _head(summary: RunSummary) -> str:
    config = summary.config
    rollout = config.rollout
    roles = ", ".join(f"{role} → {policy}" for role, policy in config.roles.items())
    facts = (
        f"{config.env_names}, {roles}. {rollout.num_tasks} tasks, {rollout.num_candidates} "
        f"candidates, at most {rollout.num_turns} turns; {rollout.sampling} sampling, "
        f"seed {config.seed}."
    )
    return f"<h1>{escape(summary.run)}</h1><p class=note>{escape(facts)}</p>"


def _headline(summary: RunSummary) -> str:
    rows = summary.evaluated
    if not rows:
        return "<p>No team of this run was evaluated.</p>" if summary.rows else _nothing()
    first, last = rows[0], rows[-1]
    cards = [
        _card("success on held-out tasks", f"{percent(first.success)} → {percent(last.success)}",
              f"interval {interval(last.low, last.high)} %"),
        _card("turns per episode", f"{number(first.turns_mean, 2)} → {number(last.turns_mean, 2)}",
              f"iteration {first.iteration} → {last.iteration}"),
    ]  # fmt: skip
    swapped = summary.final.get("validation/swapped")
    if swapped:
        note = f"interval {interval(swapped.low, swapped.high)} %"
        cards.append(_card("the same team, policies swapped", percent(swapped.success), note))
    spent = sum(sum(row.step_s.values()) for row in summary.rows)
    count = f"{summary.rows[-1].iteration} of {summary.config.iterations} iterations"
    cards.append(_card("time in steps", f"{spent:,.0f} s", count))
    return f"<div class=cards>{''.join(cards)}</div>"


def _nothing() -> str:
    return "<p>This run has no committed iteration yet.</p>"


def _card(label: str, value: str, note: str) -> str:
    return (
        f"<div class=card><p class=note>{escape(label)}</p><p class=big>{escape(value)}</p>"
        f"<p class=note>{escape(note)}</p></div>"
    )


def _verdict(summary: RunSummary) -> str:
    verdict = summary.verdict
    if verdict is None:
        return "<h2>Promotion <span class='pill idle'>not asked</span></h2>"
    kind, word = ("good", "promoted") if verdict.get("promoted") else ("bad", "refused")
    reasons = "".join(f"<p>{escape(str(reason))}</p>" for reason in verdict.get("reasons", []))
    return f"<h2>Promotion <span class='pill {kind}'>{word}</span></h2>{reasons}"


def _final(summary: RunSummary) -> str:
    if not summary.final:
        return ""

    def cells(name: str, result: Result) -> list[str]:
        return [
            NAMES.get(name, name), percent(result.success), interval(result.low, result.high),
            number(result.turns_mean, 2), str(result.num_tasks),
        ]  # fmt: skip

    order = [name for name in NAMES if name in summary.final]
    order += [name for name in summary.final if name not in NAMES]
    head = ["team and benchmark", "success", "interval, %", "turns", "tasks"]
    body = [cells(name, summary.final[name]) for name in order]
    return f"<h2>Final evaluation</h2>{table(head, body)}"


def _curves(summary: RunSummary) -> str:
    from components.reporting.charts import charts

    drawn, script = [], True
    for chart in charts(summary):
        figure = chart.figure.to_html(
            full_html=False, include_plotlyjs=script,
            config={"displaylogo": False, "responsive": True, "displayModeBar": False},
        )  # fmt: skip
        kind = "card wide" if chart.wide else "card"
        drawn.append(
            f"<div class='{kind}'><h3>{escape(chart.title)}</h3>"
            f"<p class=note>{escape(chart.note)}</p>{figure}</div>"
        )
        script = False
    return f"<h2>Curves</h2><div class=grid>{''.join(drawn)}</div>" if drawn else ""


def _iterations(summary: RunSummary) -> str:
    if not summary.rows:
        return ""
    body = [line(row, summary.roles) for row in summary.rows]
    return f"<h2>Iterations</h2>{table(header(summary), body, 'last')}"


def _certificates(summary: RunSummary) -> str:
    names = ("num_groups", "num_samples", "num_failed", "num_starved", "num_violations")
    body = [
        [
            str(row.iteration),
            *(number(row.metrics.get(f"grouping/{name}"), 0) for name in names),
            " ".join(
                f"{role} {row.metrics.get(f'grouping/{role}/frac_reward_zero_std', 0.0):.0%}"
                for role in summary.roles
            )
            or MISSING,
        ]
        for row in summary.rows
        if "grouping/num_groups" in row.metrics
    ]
    head = ["iteration", "groups", "samples", "failed", "starved", "violations", "without signal"]
    note = "<p class=note>Groups that advantages were computed in, by the group certificates.</p>"
    return f"<h2>Groups</h2>{note}{table(head, body, 'last')}" if body else ""
