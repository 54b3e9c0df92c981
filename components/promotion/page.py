"""The verdict as one self-contained HTML page for the Kubeflow UI."""

from collections.abc import Mapping
from html import escape
from typing import Any

from components.config import ExperimentConfig

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em;max-width:60em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.35em .9em;text-align:left;"
    "border-bottom:1px solid #ddd}h1 span{padding:.1em .5em;border-radius:.3em;color:#fff}"
    ".yes{background:#2e7d32}.no{background:#b71c1c}"
)


def verdict_page(
    config: ExperimentConfig, report: Mapping[str, Any], result: Mapping[str, Any]
) -> str:
    """`result` is the step's verdict, `report` the evaluation's."""
    word, kind = ("promoted", "yes") if result["promoted"] else ("refused", "no")
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in result["reasons"])
    facts = {
        "team": result["to"],
        "champion before": result["from"] or "none (compared to the initial team)",
        "paired gain": _interval(result["gain"], result["low"], result["high"]),
        "tasks": f"{result['wins']} won, {result['losses']} lost of {result['num_tasks']}",
        "needed": f"lower bound above {100 * config.promotion.min_gain:+.1f} points",
        "aliases moved": ", ".join(result["aliases"]),
        "audit entry": f"{result['audit']:06d}, {result['who']}, {result['when']}",
    }
    return (
        f"<!doctype html><meta charset='utf-8'><title>{escape(config.team_name)}</title>"
        f"<style>{_STYLE}</style><h1>{escape(config.team_name)} "
        f"<span class='{kind}'>{word}</span></h1><ul>{reasons}</ul>"
        f"{_table(facts)}<h2>Benchmarks</h2>{_benchmarks(report['benchmarks'])}"
        f"<h2>Registered versions</h2>{_table(result['versions'])}"
    )


def _interval(value: float, low: float, high: float) -> str:
    return f"{100 * value:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def _benchmarks(benchmarks: Mapping[str, Mapping[str, Any]]) -> str:
    head = (
        "<tr><th>benchmark</th><th>success</th><th>interval</th><th>turns</th><th>tasks</th></tr>"
    )
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{100 * item['success']:.1f} %</td>"
        f"<td>{100 * item['low']:.1f} to {100 * item['high']:.1f} %</td>"
        f"<td>{item['turns_mean']:.2f}</td><td>{item['num_tasks']:.0f}</td></tr>"
        for name, item in benchmarks.items()
    )
    return f"<table>{head}{rows}</table>"


def _table(values: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{escape(str(key))}</th><td>{escape(str(value))}</td></tr>"
        for key, value in values.items()
    )
    return f"<table>{rows}</table>"
