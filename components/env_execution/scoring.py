"""Judging candidates: the environment looks at all that belong together in one go.

An environment that runs programs (`StepsMany`) judges a batch side by side; any other judges one
text after the other. Which of them is chosen is decided in selection.py.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from components.engine import FinishReason
from components.env_execution.selection import where
from components.errors import RolewiseError
from components.records import Candidate, Scored
from envs.base import Attempt, Environment, Rewards, State, Status, StepResult, StepsMany

CHUNK = 64
"""Texts that the environment gets at once to begin with: between two chunks there is progress to
report."""
_CHUNK_S = 5.0
"""The next chunk is twice as long where one takes less."""
Report = Callable[[int, int], None]
"""(judged so far, to judge) of one role's candidates."""


class Judged(NamedTuple):
    """One candidate after the environment looked at it."""

    candidate: Candidate
    reward: float | None
    """None: not an answer (generation failed), or one that could not be judged."""
    parts: dict[str, float] | None
    status: Status
    state: State
    """After the action; None where there is no reward."""

    def scored(self, chosen: bool) -> Scored:
        """The record row."""
        return Scored(self.candidate, self.reward, self.parts, chosen, self.status)


def mixture(rewards: Rewards, alpha: float) -> float:
    """`alpha * team + sum(local)`."""
    return alpha * rewards.team + sum(rewards.local.values())


def judge_all(
    env: Environment,
    states: Sequence[State],
    answers: Sequence[Sequence[Candidate]],
    alpha: float,
    report: Report | None = None,
) -> list[list[Judged]]:
    """Score every state's candidates by executing each on it; the states stay as they are.

    A failed generation, and an answer that the environment could not judge (status ERROR), get no
    reward; the first never reaches the environment. RolewiseError for a reward that is not finite,
    or a status only the loop may set.
    """
    attempts = [
        Attempt(state, item.turn.role, item.text)
        for state, items in zip(states, answers, strict=True)
        for item in items
        if item.finish_reason != FinishReason.ERROR
    ]
    results = iter(step_all(env, attempts, report))
    return [[_judge(env, item, results, alpha) for item in items] for items in answers]


def step_all(
    env: Environment, attempts: Sequence[Attempt], report: Report | None = None
) -> list[StepResult]:
    """`env.step` of every attempt, in order. RolewiseError if a batch comes back incomplete."""
    results: list[StepResult] = []
    size = CHUNK
    while len(results) < len(attempts):
        begun = time.perf_counter()
        results += _step_chunk(env, attempts[len(results) : len(results) + size])
        size *= 2 if time.perf_counter() - begun < _CHUNK_S else 1
        if report:
            report(len(results), len(attempts))
    return results


def unjudged(candidate: Candidate, status: Status) -> Judged:
    """The row of a candidate without reward: kept, never picked, never trained on."""
    return Judged(candidate, None, None, status, None)


def _step_chunk(env: Environment, attempts: Sequence[Attempt]) -> list[StepResult]:
    if not isinstance(env, StepsMany):
        return [env.step(*attempt) for attempt in attempts]
    results = env.step_many(attempts)
    if len(results) != len(attempts):
        raise RolewiseError(
            f"environment {env.name!r}: step_many gave {len(results)} results for "
            f"{len(attempts)} attempts, expected one each"
        )
    return results


def _judge(
    env: Environment, candidate: Candidate, results: Iterator[StepResult], alpha: float
) -> Judged:
    """The next result belongs to this candidate, unless its generation failed."""
    if candidate.finish_reason == FinishReason.ERROR:
        return unjudged(candidate, Status.ERROR)
    result = next(results)
    if result.status == Status.ERROR:
        return unjudged(candidate, Status.ERROR)
    if result.status == Status.OUT_OF_TURNS:
        raise RolewiseError(
            f"{where(candidate)}: environment {env.name!r} returned status out_of_turns, "
            "which only the turn loop sets; expected running, solved, failed or error"
        )
    parts = {"team": float(result.rewards.team)}
    parts |= {f"local/{name}": float(value) for name, value in result.rewards.local.items()}
    for name, value in parts.items():
        if not math.isfinite(value):
            raise RolewiseError(
                f"{where(candidate)}: reward part {name!r} of environment {env.name!r} is {value}, "
                "expected a finite number"
            )
    return Judged(candidate, mixture(result.rewards, alpha), parts, result.status, result.state)
