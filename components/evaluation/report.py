"""The evaluation report: success per benchmark, and the paired difference to the reference.

Plain JSON, made of episodes alone; the gate reads it and decides.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from components.env_execution.metrics import rewards_by_task, role_rewards
from components.errors import RolewiseError
from components.evaluation.teams import Contest
from components.intervals import paired_difference, wilson
from components.policies import Team
from components.records import Episode, Scored
from envs.base import Environment, Status

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


def difference(
    first: Mapping[str, Any], second: Mapping[str, Any], confidence: float
) -> dict[str, Any]:
    """First minus second, task by task. RolewiseError if they played different tasks."""
    ours, theirs = first["outcomes"], second["outcomes"]
    if set(ours) != set(theirs):
        task = sorted(set(ours) ^ set(theirs))[0]
        raise RolewiseError(
            f"task {task!r} was played by one team only; "
            "expected both on the same tasks for a paired difference"
        )
    paired = paired_difference(
        [ours[task] for task in ours], [theirs[task] for task in ours], confidence
    )
    return paired._asdict()


def team_report(team: Team) -> dict[str, Any]:
    """role -> the policy version that plays it, as tag and as reference."""
    return {
        role: {"policy": team.roles[role], "tag": team.of(role).tag, "ref": team.of(role).to_json()}
        for role in team.roles
    }


def full_report(
    contest: Contest,
    env: Environment,
    benchmarks: Mapping[str, Mapping[str, Any]],
    confidence: float,
) -> dict[str, Any]:
    """Everything the gate and the reader need; benchmarks as `benchmark_report` makes them."""
    candidate = benchmarks["validation"]
    differences = {
        name: difference(candidate, benchmarks[f"validation/{name}"], confidence)
        for name in ("reference", "swapped")
        if f"validation/{name}" in benchmarks
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "env": env.name,
        "env_version": env.version,
        "confidence": confidence,
        "reference": contest.reference_name,
        "teams": {name: team_report(team) for name, team in contest.teams.items()},
        "benchmarks": dict(benchmarks),
        "differences": differences,
    }
