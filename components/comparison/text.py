"""The comparison as a table for the terminal."""

from collections.abc import Mapping
from typing import Any

from components.aligned import aligned


def comparison_text(result: Mapping[str, Any]) -> str:
    """A block per environment, then the verdict in the last line."""
    first, second = (team["name"] for team in result["teams"])
    confidence = f"{100 * result['confidence']:g} % interval"
    rows = [("", first, second, "difference", confidence)]
    for name, part in result["environments"].items():
        rows += _rows(name, part)
    return "\n".join([*aligned(rows, {0}), "", result["verdict"]])


def _rows(name: str, part: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    test = part["mcnemar"]
    told = f"{test['only_first']} : {test['only_second']}"
    rows = [
        (f"{name}: {part['num_tasks']} tasks", "", "", "", ""),
        _row("  success", part["success"], 100.0, 1, " %"),
        ("    score interval", "", "", "", _interval(part["score"], 100.0, 1)),
        ("  solved by one alone", "", "", told, f"exact McNemar p = {test['p']:.3g}"),
        _row("  turns", part["turns"], 1.0, 2, ""),
    ]
    rewards = part["rewards"]
    rows += [_row(f"  r({role})", item, 1.0, 3, "") for role, item in rewards.items()]
    if not rewards:
        rows.append(("  rewards by role", "not kept", "", "--evaluate plays again", ""))
    return rows


def _row(
    name: str, item: Mapping[str, Any], scale: float, digits: int, unit: str
) -> tuple[str, str, str, str, str]:
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
