"""The evaluation report: success per benchmark, and the paired difference to the reference.

Plain JSON, made of episodes alone; the gate reads it and decides.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from components.env_execution.metrics import (
    rewards_by_task,
    role_rewards,
    weighted_success,
    weighted_turns,
)
from components.errors import RolewiseError
from components.evaluation.teams import Contest
from components.intervals import (
    PairedDifference,
    paired_difference,
    weighted_difference,
    wilson,
)
from components.members import Member
from components.policies import Team
from components.records import Episode, Scored
from envs.base import Status

SCHEMA_VERSION = 1


def benchmark_report(
    episodes: Sequence[Episode], scored: Sequence[Scored], confidence: float
) -> dict[str, Any]:
    """One team on one benchmark. `outcomes` is solved or not by task, for pairing, as is
    `rewards_by_task` (task -> role -> mean reward)."""
    outcomes = {episode.task_id: episode.status == Status.SOLVED for episode in episodes}
    success, low, high = wilson(sum(outcomes.values()), len(outcomes), confidence)
    return {
        "success": success,
        "low": low,
        "high": high,
        "turns_mean": statistics.fmean(episode.num_turns for episode in episodes),
        "num_tasks": len(outcomes),
        "reward": role_rewards(scored),
        "outcomes": outcomes,
        "rewards_by_task": rewards_by_task(scored),
    }


def benchmark_reports(
    name: str,
    members: Sequence[Member],
    episodes: Sequence[Episode],
    scored: Sequence[Scored],
    confidence: float,
) -> dict[str, dict[str, Any]]:
    """`name` -> the report of all; of several environments also `<name>/<environment>` -> its own.

    Success and turns over all are means by the environments' evaluation shares.
    """
    whole = benchmark_report(episodes, scored, confidence)
    if len(members) == 1:
        return {name: whole}
    success, low, high = weighted_success(members, episodes, confidence)
    whole |= {"success": success, "low": low, "high": high}
    whole |= {"turns_mean": weighted_turns(members, episodes)}
    parts = {
        f"{name}/{member.name}": benchmark_report(
            [item for item in episodes if item.env == member.name],
            [row for row in scored if row.candidate.turn.env == member.name],
            confidence,
        )
        for member in members
    }
    return {name: whole, **parts}


def differences(
    members: Sequence[Member], benchmarks: Mapping[str, Mapping[str, Any]], confidence: float
) -> dict[str, dict[str, Any]]:
    """`reference` and `swapped` -> the candidate's success minus theirs, task by task.

    Of several environments it is the mean of their differences, by evaluation shares, and
    `<team>/<environment>` has each.
    """
    found: dict[str, PairedDifference] = {}
    for team in ("reference", "swapped"):
        theirs = f"validation/{team}"
        if theirs not in benchmarks:
            continue
        if len(members) == 1:
            found[team] = difference(benchmarks["validation"], benchmarks[theirs], confidence)
            continue
        for name in (member.name for member in members):
            pair = (benchmarks[f"validation/{name}"], benchmarks[f"{theirs}/{name}"])
            found[f"{team}/{name}"] = difference(*pair, confidence)
        found[team] = weighted_difference(
            [(float(it.evaluation_share), found[f"{team}/{it.name}"]) for it in members]
        )
    return {name: paired._asdict() for name, paired in found.items()}


def difference(
    first: Mapping[str, Any], second: Mapping[str, Any], confidence: float
) -> PairedDifference:
    """First minus second, task by task. RolewiseError if they played different tasks."""
    ours, theirs = first["outcomes"], second["outcomes"]
    if set(ours) != set(theirs):
        task = sorted(set(ours) ^ set(theirs))[0]
        raise RolewiseError(
            f"task {task!r} was played by one team only; "
            "expected both on the same tasks for a paired difference"
        )
    return paired_difference(
        [ours[task] for task in ours], [theirs[task] for task in ours], confidence
    )


def team_report(team: Team) -> dict[str, Any]:
    """role -> the policy version that plays it, as tag and as reference."""
    return {
        role: {"policy": team.roles[role], "tag": team.of(role).tag, "ref": team.of(role).to_json()}
        for role in team.roles
    }


def full_report(
    contest: Contest,
    members: Sequence[Member],
    benchmarks: Mapping[str, Mapping[str, Any]],
    confidence: float,
) -> dict[str, Any]:
    """Everything the gate and the reader need; benchmarks as `benchmark_reports` makes them.

    `strata` are the environments whose tasks are paired apart, where there are several.
    """
    several = {"strata": [member.name for member in members]} if len(members) > 1 else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "env": " + ".join(member.name for member in members),
        "env_version": " + ".join(member.env.version for member in members),
        "confidence": confidence,
        "reference": contest.reference_name,
        "teams": {name: team_report(team) for name, team in contest.teams.items()},
        "benchmarks": dict(benchmarks),
        "differences": differences(members, benchmarks, confidence),
        **several,
    }
