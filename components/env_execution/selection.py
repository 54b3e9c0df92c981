"""Judging one candidate, and choosing among a node's candidates.

`r = alpha * team + sum(local)` is both what is trained on and what is picked by.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from components.engine import FinishReason
from components.env_execution.rules import Rules
from components.errors import RolewiseError
from components.records import Candidate, Scored, Turn
from components.seeds import derive_seed
from envs.base import Environment, Rewards, State, Status


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


def judge(env: Environment, state: State, candidate: Candidate, alpha: float) -> Judged:
    """Score one answer by executing it on the node's state, which stays as it is.

    A failed generation, and an answer that the environment could not judge (status ERROR), get no
    reward. RolewiseError for a reward that is not finite, or a status only the loop may set.
    """
    if candidate.finish_reason == FinishReason.ERROR:
        return unjudged(candidate, Status.ERROR)
    result = env.step(state, candidate.turn.role, candidate.text)
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


def unjudged(candidate: Candidate, status: Status) -> Judged:
    """The row of a candidate without reward: kept, never picked, never trained on."""
    return Judged(candidate, None, None, status, None)


def choose(rewards: Sequence[float | None], beam: int, rng: Random | None = None) -> list[int]:
    """Indices of at most `beam` candidates, the best first; those without reward never.

    Ties go to the lower index. With `rng`, that many of them at random instead of the best.
    ValueError on NaN: no comparison with it means anything.
    """
    survivors = [index for index, reward in enumerate(rewards) if reward is not None]
    if any(math.isnan(rewards[index] or 0.0) for index in survivors):
        raise ValueError(f"rewards {list(rewards)} contain NaN, expected numbers or None")
    count = min(beam, len(survivors))
    if rng is not None:
        return rng.sample(survivors, count)
    return sorted(survivors, key=lambda index: (-(rewards[index] or 0.0), index))[:count]


def pick_rng(rules: Rules, turn: Turn) -> Random | None:
    """The random source of one node's pick; None where picks are greedy."""
    if rules.pick == "greedy":
        return None
    parts = (turn.task_id, turn.node, turn.turn, turn.role)
    return Random(derive_seed("pick", rules.run_seed, rules.iteration, *parts))


def where(candidate: Candidate) -> str:
    """`task t turn 1 role r node 0.2 candidate 3`: names a row in messages."""
    return f"{place(candidate.turn)} candidate {candidate.candidate}"


def place(turn: Turn) -> str:
    """The same for a prompt; unique within one play. The episode is the task and its replica."""
    node = turn.node or "root"
    return f"task {turn.episode_id} turn {turn.turn} role {turn.role} node {node}"
