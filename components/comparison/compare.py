"""The comparison of two teams on the same tasks, as plain JSON, with the verdict in one line.

Differences are the first team minus the second, over all tasks and, where there are several
environments, over those of each.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from components.comparison.outcomes import HeldOut, Outcome
from components.comparison.paired import mcnemar, stratified
from components.errors import ConfigError
from components.intervals import paired_difference

SCHEMA_VERSION = 1
ALL = "all"
Value = tuple[str, float, float]
"""Environment, the value of the first team, and of the second: one task."""


def compare(
    first: HeldOut,
    second: HeldOut,
    names: tuple[str, str],
    confidence: float = 0.95,
    shares: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Everything that `compare` shows; `names` are what the verdict calls the teams.

    `shares`: of several environments in the numbers over all; None: every task counts once.
    ConfigError if they were played on different tasks.
    """
    problem = different_tasks(first, second, names)
    if problem:
        raise ConfigError(problem)
    tasks = _parts(first)
    several = shares if shares and len(tasks) > 1 else {}
    parts = {
        name: _part(first, second, own, confidence, several if name == ALL else {})
        for name, own in tasks.items()
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "teams": [
            {"name": name, "run": team.run, "iteration": team.iteration, "played_by": team.source}
            for name, team in zip(names, (first, second), strict=True)
        ],
        "confidence": confidence,
        "num_tasks": len(first.outcomes),
        "tasks": dict(first.tasks),
        "environments": parts,
        "verdict": verdict(parts[ALL], names, confidence),
    }


def different_tasks(first: HeldOut, second: HeldOut, names: tuple[str, str]) -> str | None:
    """Why these two cannot be compared task by task; None if they can."""
    fix = "`--evaluate` plays both on the tasks of the first"
    if first.tasks != second.tasks:
        return (
            f"{names[0]} was played on {_source(first)}, {names[1]} on {_source(second)}: other "
            f"tasks, although their ids may be equal; {fix}"
        )
    ours, theirs = set(first.outcomes), set(second.outcomes)
    if ours != theirs or not ours:
        return (
            f"{names[0]} was played on {len(ours)} held-out tasks, {names[1]} on {len(theirs)}, "
            f"of which {len(ours & theirs)} are the same; expected the same tasks: {fix}"
        )
    return None


def verdict(part: Mapping[str, Any], names: tuple[str, str], confidence: float) -> str:
    """One line. A team is called better only if the interval and the exact test agree, also on
    which: weighted success may prefer one team while the other solved more tasks alone."""
    success, test = part["success"], part["mcnemar"]
    won = test["only_first"] - test["only_second"]
    clear = (success["low"] > 0 and won > 0) or (success["high"] < 0 and won < 0)
    rates = [success["first"], success["second"]]
    gain, low, high = (100 * success[name] for name in ("difference", "low", "high"))
    decided = clear and test["p"] < 1 - confidence
    if decided and gain < 0:  # the better one is named first, and its numbers too
        names, rates, gain, low, high = (names[1], names[0]), rates[::-1], -gain, -high, -low
    numbers = (
        f"success {_percent(rates[0])} against {_percent(rates[1])}, {gain:+.1f} points "
        f"({100 * confidence:g} % interval {low:+.1f} to {high:+.1f}) on {part['num_tasks']} "
        f"tasks; McNemar p = {test['p']:.2g}"
    )
    if decided:
        return f"{names[0]} is better than {names[1]}: {numbers}"
    return f"no clear difference between {names[0]} and {names[1]}: {numbers}"


def _parts(team: HeldOut) -> dict[str, list[str]]:
    """Name of a part -> its task ids: all, then each environment if there are several."""
    parts: dict[str, list[str]] = {ALL: sorted(team.outcomes)}
    names = sorted({outcome.env for outcome in team.outcomes.values()})
    if len(names) > 1:
        for name in names:
            parts[name] = [task for task in parts[ALL] if team.outcomes[task].env == name]
    return parts


def _part(
    first: HeldOut,
    second: HeldOut,
    tasks: Sequence[str],
    confidence: float,
    shares: Mapping[str, float],
) -> dict[str, Any]:
    pairs = [(first.outcomes[task], second.outcomes[task]) for task in tasks]

    def measured(value: Callable[[Outcome], float]) -> dict[str, Any]:
        values = [(a.env, value(a), value(b)) for a, b in pairs]
        return _estimate(values, confidence, shares)

    solved = [a.solved for a, _ in pairs], [b.solved for _, b in pairs]
    return {
        "num_tasks": len(tasks),
        "success": measured(lambda outcome: float(outcome.solved)),
        "turns": measured(lambda outcome: float(outcome.num_turns)),
        "rewards": _rewards(pairs, confidence, shares),
        "mcnemar": mcnemar(*solved)._asdict(),
        "score": paired_difference(*solved, confidence)._asdict(),
    }


def _rewards(
    pairs: Sequence[tuple[Outcome, Outcome]], confidence: float, shares: Mapping[str, float]
) -> dict[str, Any]:
    """role -> its estimate, on the tasks where both teams' answers of the role have a reward."""
    found = {}
    for role in dict.fromkeys(role for first, _ in pairs for role in sorted(first.rewards)):
        values = [
            (first.env, first.rewards[role], second.rewards[role])
            for first, second in pairs
            if role in first.rewards and role in second.rewards
        ]
        if values:
            found[role] = _estimate(values, confidence, shares)
    return found


def _estimate(
    values: Sequence[Value], confidence: float, shares: Mapping[str, float]
) -> dict[str, Any]:
    """Both means, and the mean difference with its bootstrap interval; by `shares` of the
    environments, where there are any."""
    strata: dict[str, list[Value]] = {}
    for value in values:
        strata.setdefault(value[0] if shares else ALL, []).append(value)
    whole = sum(shares[name] for name in strata) if shares else 1.0
    weights = {name: shares[name] / whole if shares else 1.0 for name in strata}
    first = sum(weights[name] * fmean(a for _, a, _ in of) for name, of in strata.items())
    second = sum(weights[name] * fmean(b for _, _, b in of) for name, of in strata.items())
    interval = stratified(
        [(weights[name], [a - b for _, a, b in of]) for name, of in strata.items()], confidence
    )
    return {
        "first": first,
        "second": second,
        "difference": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "num_tasks": len(values),
    }


def _source(team: HeldOut) -> str:
    return f"{team.tasks['env']} (options {team.tasks['digest']})"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
