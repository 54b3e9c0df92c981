"""Judging a text: pure, within the declared bounds, and nothing paid for nonsense."""

import json
import math
from collections.abc import Sequence

from envs.base import (
    Attempt,
    Environment,
    Rewards,
    State,
    Status,
    StepResult,
    StepsMany,
)
from envs.checking.report import TOLERANCE, Again, Report, global_seed, guarded, same_state

ILLEGAL = (
    "", " \n\t ", "?!", "I cannot do that.", "\x00\x07", "日本語 🚀 \u202e", "\ud800", "[[[[", "[]",
    "```", "{'a': __import__('os')}", "-1 1e999 nan", "<|im_end|>", "</think>", "x" * 100_000,
    "[" + "?," * 50_000 + "]",
)  # fmt: skip
"""Texts that are no answer in any environment."""


def check_illegal(
    env: Environment, state: State, role: str, text: str, report: Report
) -> StepResult | None:
    """Illegal text is an outcome: it neither raises nor pays nor solves."""
    shown = f"Illegal text {text[:20]!r}"
    result = None
    with guarded(report, f"step of {role} on the illegal text {text[:20]!r}"):
        result = env.step(state, role, text)
        _judge_unpaid(env, role, shown, result, report)
    return result


def check_invalid(env: Environment, state: State, role: str, text: str, report: Report) -> None:
    """A readable answer that is impossible in this state: like illegal text."""
    shown = f"Invalid move {text[:20]!r}"
    with guarded(report, f"step of {role} on the invalid move {text[:20]!r}"):
        _judge_unpaid(env, role, shown, env.step(state, role, text), report)


def check_step(
    env: Environment, again: Again | None, state: State, role: str, text: str, report: Report
) -> StepResult | None:
    """One judged answer; None where the state that it was given has changed."""
    before = json.dumps(env.encode_state(state), sort_keys=True)
    with global_seed(4):
        result = env.step(state, role, text)
    after = json.dumps(env.encode_state(state), sort_keys=True)
    report.expect(after == before, f"step of {role} changes the state that it was given.")
    if after != before:
        return None
    with global_seed(5):
        same = (again() if again else env).step(env.decode_state(json.loads(before)), role, text)
    report.expect(same_result(env, same, result), f"step of {role} gives two results for one text.")
    _check_status(env, role, result, report)
    check_rewards(env, role, result.rewards, report)
    return result


def check_batch(
    env: Environment, judged: Sequence[tuple[Attempt, StepResult]], report: Report
) -> None:
    """`step_many` is `step`, one by one and in order, whatever else is in the batch."""
    if not isinstance(env, StepsMany) or not judged:
        return
    for turned in (False, True):
        batch = list(judged)[::-1] if turned else list(judged)
        results = env.step_many([attempt for attempt, _ in batch])
        alike = [same_result(env, one, pair[1]) for one, pair in zip(results, batch, strict=False)]
        report.expect(
            len(results) == len(batch) and all(alike), "step_many differs from step, one by one."
        )
    report.expect(list(env.step_many([])) == [], "step_many of nothing is not an empty list.")


def check_rewards(env: Environment, role: str, rewards: Rewards, report: Report) -> None:
    """Exactly the declared parts, each finite and within its bounds."""
    preset = env.reward_presets[env.reward]
    declared = preset.local.get(role, {})
    report.expect(
        set(rewards.local) == set(declared),
        f"{role} has the reward parts {sorted(rewards.local)}, the preset {env.reward} declares "
        f"{sorted(declared)}.",
    )
    named = [("team", rewards.team, preset.team)]
    named += [(part, value, declared[part]) for part, value in rewards.local.items()
              if part in declared]  # fmt: skip
    for part, value, bounds in named:
        report.expect(
            math.isfinite(value) and bounds.low - TOLERANCE <= value <= bounds.high + TOLERANCE,
            f"{role}'s reward part {part} leaves its bounds [{bounds.low:g}, {bounds.high:g}].",
        )


def same_result(env: Environment, one: StepResult, other: StepResult) -> bool:
    """Equal in rewards, status and state; the state behind an error does not count."""
    return (
        one.rewards == other.rewards
        and one.status is other.status
        and (one.status is Status.ERROR or same_state(env, one.state, other.state))
    )


def _judge_unpaid(
    env: Environment, role: str, shown: str, result: StepResult, report: Report
) -> None:
    report.expect(
        result.status not in (Status.SOLVED, Status.ERROR),
        f"{shown} of {role} has the status {result.status.value}.",
    )
    parts = (result.rewards.team, *result.rewards.local.values())
    report.expect(max(parts) <= TOLERANCE, f"{shown} of {role} earns {max(parts):g}, above 0.")
    check_rewards(env, role, result.rewards, report)


def _check_status(env: Environment, role: str, result: StepResult, report: Report) -> None:
    """Only solved is success, and only the turn loop counts turns."""
    report.expect(
        result.status is not Status.OUT_OF_TURNS,
        f"step of {role} returns the status out_of_turns, which is the turn loop's.",
    )
    report.expect(
        result.status in (Status.SOLVED, Status.RUNNING)
        or result.rewards.team < max(env.reward_presets[env.reward].team.high, TOLERANCE),
        f"step of {role} gives the full team reward with the status {result.status.value}; "
        "only solved is success.",
    )
