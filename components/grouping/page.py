"""The certificate as a small HTML page: faults first, totals per role, the groups worth a look."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from components.grouping.certificate import rows
from components.settings import KEYS

SHOWN = 20
"""Groups in the table."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1080px; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 1.75rem 0 .5rem; }
p { margin: .25rem 0; } .note { color: #616e7c; }
.verdict { display: inline-block; padding: .2rem .7rem; border-radius: 999px; font-weight: 600; }
.good { background: #dcf5e7; color: #14633c; } .bad { background: #fde3e1; color: #9b1c13; }
.warn { background: #fdf1d3; color: #7a5200; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .75rem; border-bottom: 1px solid #e4e7eb; text-align: right;
  white-space: nowrap; }
th { color: #52606d; font-weight: 600; border-bottom: 2px solid #cbd2d9; }
.text { text-align: left; } .text code { font-size: 13px; }
"""


def render(certificate: Mapping[str, Any], run: str, iteration: int) -> str:
    """One self-contained page; everything in it is escaped."""
    body = [
        f"<h1>Group certificate</h1><p class=note>run {escape(run)}, iteration {iteration}</p>",
        _verdict(certificate),
        "<h2>Groups per role</h2>",
        _totals(certificate["totals"]),
        f"<p class=note>Groups share {escape(', '.join(certificate['key']))}; "
        f"{escape(certificate['sampling'])} sampling of {certificate['num_candidates']}; "
        f"standard deviation with ddof {certificate['std_ddof']}.</p>",
        "<h2>Groups worth a look</h2>",
        "<p class=note>Most failed generations first, then those without spread.</p>",
        _groups(worst(certificate)),
    ]
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Group certificate</title>"
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>"
    )


def worst(certificate: Mapping[str, Any], count: int = SHOWN) -> list[dict[str, Any]]:
    """The groups with most failed generations, then those without variance, in stable order."""
    ordered = sorted(rows(certificate), key=lambda row: (-row["num_failed"], -row["zero_variance"]))
    return ordered[:count]


def _verdict(certificate: Mapping[str, Any]) -> str:
    violations, impurities = certificate["violations"], certificate["impurities"]
    if violations:
        count = f"{len(violations)} violation{'s' if len(violations) > 1 else ''}"
        head = f"<span class='verdict bad'>{count}: no update</span>"
    elif certificate["impure"]:
        head = "<span class='verdict warn'>impure on purpose: cannot be promoted</span>"
    else:
        head = "<span class='verdict good'>every group is pure</span>"
    lines = "".join(f"<li>{escape(line)}</li>" for line in [*violations, *impurities])
    return f"<p>{head}</p>" + (f"<ul>{lines}</ul>" if lines else "")


def _totals(totals: Mapping[str, Mapping[str, float]]) -> str:
    names = ["role", "groups", "samples", "failed", "no spread", "starved", "singletons", "mean r"]
    body = [
        [
            role, str(item["num_groups"]), str(item["num_samples"]), str(item["num_failed"]),
            f"{item['num_zero_variance']} ({item['frac_reward_zero_std']:.0%})",
            str(item["num_starved"]), str(item["num_singletons"]), f"{item['reward_mean']:.3f}",
        ]
        for role, item in totals.items()
    ]  # fmt: skip
    return _table(names, body, text=1)


def _groups(groups: Iterable[Mapping[str, Any]]) -> str:
    names = [*KEYS, "prompt sha256", "policy version", "size", "failed", "mean r", "std r"]
    body = [
        [
            *(str(row[part]) or "root" for part in KEYS),
            row["prompt_sha256"],
            row["policy_version"],
            str(row["size"]),
            str(row["num_failed"]),
            "none" if row["reward_mean"] is None else f"{row['reward_mean']:.3f}",
            f"{row['reward_std']:.3f}",
        ]
        for row in groups
    ]
    return _table(names, body, text=6)


def _table(names: Sequence[str], body: Iterable[Sequence[str]], text: int) -> str:
    """The first `text` columns are words, the others numbers."""

    def line(cells: Sequence[str], tag: str) -> str:
        marked = (
            f"<{tag}{' class=text' if i < text else ''}>{escape(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        )
        return f"<tr>{''.join(marked)}</tr>"

    lines = "".join(line(cells, "td") for cells in body)
    return f"<div class=scroll><table>{line(names, 'th')}{lines}</table></div>"
