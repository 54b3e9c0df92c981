"""The comparison as a table for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.aligned import aligned

WIDTH = 80
"""Columns of a terminal. Names that make a line longer stand above the table, as A and B."""
AGAIN = "rewards by role were not kept of both teams: --evaluate plays again, with rewards"
Cells = tuple[str, str, str, str, str]


def comparison_text(result: Mapping[str, Any]) -> str:
    """A block per environment, then the verdict in the last line."""
    first, second = (team["name"] for team in result["teams"])
    lines = _table(result, (first, second))
    if max(map(len, lines)) > WIDTH:
        lines = [f"A  {first}", f"B  {second}", "", *_table(result, ("A", "B"))]
    if not all(part["rewards"] for part in result["environments"].values()):
        lines += ["", AGAIN]
    return "\n".join([*lines, "", result["verdict"]])


def _table(result: Mapping[str, Any], heads: Sequence[str]) -> list[str]:
    """Lines; the blocks' titles fill a line each and widen no column."""
    confidence = f"{100 * result['confidence']:g} % interval"
    rows: list[Cells] = [("", heads[0], heads[1], "difference", confidence)]
    titles = {}
    for name, part in result["environments"].items():
        titles[len(rows)] = f"{name}: {part['num_tasks']} tasks"
        rows += [("", "", "", "", ""), *_rows(part)]
    return [titles.get(at, line) for at, line in enumerate(aligned(rows, {0}))]


def _rows(part: Mapping[str, Any]) -> list[Cells]:
    test = part["mcnemar"]
    told = f"{test['only_first']} : {test['only_second']}"
    rows = [
        _row("  success", part["success"], 100.0, 1, " %"),
        ("    score interval", "", "", "", _interval(part["score"], 100.0, 1)),
        ("  solved by one alone", "", "", told, f"exact McNemar p = {test['p']:.3g}"),
        _row("  turns", part["turns"], 1.0, 2, ""),
    ]
    rewards = part["rewards"]
    rows += [_row(f"  r({role})", item, 1.0, 3, "") for role, item in rewards.items()]
    return rows if rewards else [*rows, ("  rewards by role", "", "", "not kept", "")]


def _row(name: str, item: Mapping[str, Any], scale: float, digits: int, unit: str) -> Cells:
    def number(key: str, sign: str = "") -> str:
        return f"{scale * item[key]:{sign}.{digits}f}"

    return (
        name,
        number("first") + unit,
        number("second") + unit,
        number("difference", "+"),
        _interval(item, scale, digits),
    )


def _interval(item: Mapping[str, Any], scale: float, digits: int) -> str:
    return f"{scale * item['low']:+.{digits}f} to {scale * item['high']:+.{digits}f}"
