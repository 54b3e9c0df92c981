"""Choosing among a node's candidates by their rewards, and naming rows in messages.

`r = alpha * team + sum(local)`, made in scoring.py, is both what is trained on and what is picked
by.
"""

import math
from collections.abc import Sequence
from random import Random

from components.env_execution.rules import Rules
from components.records import Candidate, Turn
from components.seeds import derive_seed


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
