"""The report as one self-contained page: one run, or several grouped into experiments.

Needs no network: Plotly's script is inside the page, and a content security policy lets no other
run. Every text is escaped.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from plotly.offline import get_plotlyjs

from components.reporting.budget import Hardware
from components.reporting.charts import charts
from components.reporting.experiments import Experiment, experiments
from components.reporting.figure import Chart
from components.reporting.markup import counted, section, table
from components.reporting.sections import (
    certificates,
    cost,
    facts,
    final_evaluation,
    headline,
    iteration_table,
    methods,
    run_list,
    setting_differences,
    signal,
    verdict,
)
from components.reporting.summary import RunSummary

STATIC = Path(__file__).parent / "static"


def html_report(summary: RunSummary) -> str:
    """The page of one run."""
    return report([summary])


def report(
    runs: Sequence[RunSummary],
    hardware: Hardware | None = None,
    links: Mapping[str, str] | None = None,
) -> str:
    """The whole page as text, about 5 MB, nearly all of it Plotly's script.

    Runs that differ in their seed alone become one curve with its interval. `links`: run -> the
    relative address of its episodes.
    """
    found = experiments(runs)
    one = runs[0] if len(runs) == 1 else None
    title = one.run if one else _several(found)
    body = [
        f"<h1>{escape(title)}</h1><p class=note>{escape(facts(found))}</p>",
        headline(found, hardware or Hardware()),
        verdict(one) if one else "",
        methods(found),
        cost(found, hardware or Hardware()),
        final_evaluation(one) if one else "",
        curves(charts(found)),
        signal(found),
        setting_differences(found),
        run_list(runs, links or {}),
        iteration_table(one) if one else "",
        certificates(one) if one else "",
    ]
    return page(title, "".join(body))


def _several(found: Sequence[Experiment]) -> str:
    """How many runs of how many experiments, and their name where they share it."""
    names = {item.config.name for item in found}
    runs = sum(len(item.runs) for item in found)
    text = f"{counted(runs, 'run')} of {counted(len(found), 'experiment')}"
    return f"{names.pop()}: {text}" if len(names) == 1 else text


def page(title: str, body: str) -> str:
    """The frame around the content: style, policy, scripts where the page has figures."""
    style = (STATIC / "report.css").read_text()
    own = (STATIC / "report.js").read_text()
    scripts = [get_plotlyjs(), own] if "class=figure" in body else []
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts)}">'
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        "<meta name=color-scheme content='light dark'>"
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main>{body}</main>"
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>"
    )


def policy(scripts: Sequence[str]) -> str:
    """Allows exactly these scripts; Plotly sets styles and draws pictures into the page."""
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def curves(drawn: Sequence[Chart]) -> str:
    """Every figure with its sentence and its numbers."""
    return section(
        "Curves", f"<div class=grid>{''.join(map(_figure, drawn))}</div>" if drawn else ""
    )


def _figure(chart: Chart) -> str:
    spec = json.dumps({"data": chart.data, "layout": chart.layout}, allow_nan=False)
    spec = spec.replace("<", "\\u003c")  # nothing inside can end the element
    numbers = table(chart.head, chart.body, caption=chart.title)
    return (
        f"<div class='card{' wide' if chart.wide else ''}'><h3>{escape(chart.title)}</h3>"
        f"<p class=note>{escape(chart.note)}</p>"
        f'<div class=figure role=img aria-label="{escape(chart.alt, quote=True)}">'
        f"<script type=application/json>{spec}</script></div>"
        f"<details><summary>Numbers</summary>{numbers}</details></div>"
    )
