"""Metrics of played episodes, from their rows alone: means, shares, success with its interval."""

import statistics
from collections.abc import Sequence

from components.engine import FinishReason
from components.intervals import Interval, weighted, wilson
from components.members import Member
from components.records import Episode, Scored
from envs.base import Status


def candidate_metrics(scored: Sequence[Scored], prefix: str) -> dict[str, float]:
    """`<prefix>/<role>/...` for every role with rows; rewards are those of judged answers."""
    metrics: dict[str, float] = {}
    for role, rows in by_role(scored).items():
        answers = [row for row in rows if row.candidate.finish_reason != FinishReason.ERROR]
        rewards = [row.reward for row in rows if row.reward is not None]
        cut = sum(row.candidate.finish_reason == FinishReason.LENGTH for row in answers)
        name = f"{prefix}/{role}"
        metrics[f"{name}/num_candidates"] = float(len(rows))
        metrics[f"{name}/num_tokens"] = float(
            sum(len(row.candidate.completion_ids) for row in rows)
        )
        metrics[f"{name}/errors"] = float(len(rows) - len(answers))
        metrics[f"{name}/unjudged"] = float(len(answers) - len(rewards))
        if rewards:
            metrics[f"{name}/reward/mean"] = statistics.fmean(rewards)
            metrics[f"{name}/reward/std"] = statistics.pstdev(rewards)
        if answers:
            lengths = [len(row.candidate.completion_ids) for row in answers]
            metrics[f"{name}/completions/mean_length"] = statistics.fmean(lengths)
            metrics[f"{name}/completions/truncated_frac"] = cut / len(answers)
    return metrics


def episode_metrics(
    episodes: Sequence[Episode], prefix: str, confidence: float = 0.95
) -> dict[str, float]:
    """`<prefix>/{success,success_low,success_high,turns/mean,num_tasks}`; none without episodes.

    Only status SOLVED is success; an episode that ended with an error counts as unsolved.
    """
    if not episodes:
        return {}
    solved = sum(episode.status == Status.SOLVED for episode in episodes)
    success, low, high = wilson(solved, len(episodes), confidence)
    return {
        f"{prefix}/success": success,
        f"{prefix}/success_low": low,
        f"{prefix}/success_high": high,
        f"{prefix}/turns/mean": statistics.fmean(episode.num_turns for episode in episodes),
        f"{prefix}/num_tasks": float(len(episodes)),
        f"{prefix}/errors": float(sum(episode.status == Status.ERROR for episode in episodes)),
    }


def environment_metrics(
    members: Sequence[Member],
    scored: Sequence[Scored],
    episodes: Sequence[Episode],
    prefix: str,
    confidence: float = 0.95,
) -> dict[str, float]:
    """`<prefix>/<environment>/...`: how its episodes ended, and `reward/<role>`, the mean.

    None where there is one environment: then `<prefix>/...` says it.
    """
    metrics: dict[str, float] = {}
    for member in members if len(members) > 1 else ():
        name = f"{prefix}/{member.name}"
        metrics |= episode_metrics(
            [it for it in episodes if it.env == member.name], name, confidence
        )
        rows = [row for row in scored if row.candidate.turn.env == member.name]
        rewards = role_rewards(rows)
        metrics |= {f"{name}/reward/{role}": mean for role, mean in rewards.items()}
    return metrics


def weighted_metrics(
    members: Sequence[Member], episodes: Sequence[Episode], prefix: str, confidence: float = 0.95
) -> dict[str, float]:
    """`episode_metrics` over all environments, in which each counts with its evaluation share.

    Success and turns are weighted means; the interval is that of `weighted_success`.
    """
    if len(members) == 1:
        return episode_metrics(episodes, prefix, confidence)
    success, low, high = weighted_success(members, episodes, confidence)
    return episode_metrics(episodes, prefix, confidence) | {
        f"{prefix}/success": success,
        f"{prefix}/success_low": low,
        f"{prefix}/success_high": high,
        f"{prefix}/turns/mean": weighted_turns(members, episodes),
    }


def weighted_success(
    members: Sequence[Member], episodes: Sequence[Episode], confidence: float = 0.95
) -> Interval:
    """Mean of the environments' success rates by their evaluation shares, with its interval."""
    parts = []
    for member in members:
        own = [item for item in episodes if item.env == member.name]
        solved = sum(item.status == Status.SOLVED for item in own)
        parts.append((float(member.evaluation_share), wilson(solved, len(own), confidence)))
    return weighted(parts)


def weighted_turns(members: Sequence[Member], episodes: Sequence[Episode]) -> float:
    """Mean of the environments' turns per episode by their evaluation shares."""
    return sum(
        float(member.evaluation_share)
        * statistics.fmean(item.num_turns for item in episodes if item.env == member.name)
        for member in members
    )


def role_rewards(scored: Sequence[Scored]) -> dict[str, float]:
    """Mean reward of each role's judged answers; roles without one are left out."""
    rewards = {
        role: [row.reward for row in rows if row.reward is not None]
        for role, rows in by_role(scored).items()
    }
    return {role: statistics.fmean(values) for role, values in rewards.items() if values}


def rewards_by_task(scored: Sequence[Scored]) -> dict[str, dict[str, float]]:
    """Task id -> role -> mean reward of its judged answers."""
    tasks: dict[str, list[Scored]] = {}
    for row in scored:
        tasks.setdefault(row.candidate.turn.task_id, []).append(row)
    return {task: role_rewards(rows) for task, rows in tasks.items()}


def by_role(scored: Sequence[Scored]) -> dict[str, list[Scored]]:
    """Rows of each role, in order of first appearance."""
    rows: dict[str, list[Scored]] = {}
    for row in scored:
        rows.setdefault(row.candidate.turn.role, []).append(row)
    return rows
