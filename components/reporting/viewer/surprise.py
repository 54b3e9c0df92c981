"""Where a group of candidates is worth a look: no signal, an outlier, an unlikely winner. Pure."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

SAME = 1e-9
"""Rewards closer than this are equal."""


def is_silent(rewards: Sequence[float | None]) -> bool:
    """Whether a group of several gives no signal: equal rewards, or fewer than two survivors."""
    alive = [reward for reward in rewards if reward is not None]
    if len(rewards) < 2:
        return False
    return len(alive) < 2 or max(alive) - min(alive) < SAME


def far_from_mean(rewards: Sequence[float | None]) -> float:
    """The largest distance of a reward to its group's mean; 0 for fewer than two."""
    alive = [reward for reward in rewards if reward is not None]
    if len(alive) < 2:
        return 0.0
    mean = fmean(alive)
    return max(abs(reward - mean) for reward in alive)


def unlikely_winner(answers: Sequence[Mapping[str, Any]]) -> float:
    """How many nats less likely than its siblings' average the picked answer was, if its reward
    is above the group's mean; else 0. `logprob` is the sum over the answer's tokens."""
    alive = [answer for answer in answers if answer["reward"] is not None]
    if len(alive) < 2:
        return 0.0
    mean = fmean(answer["reward"] for answer in alive)
    average = fmean(answer["logprob"] for answer in alive)
    won = [a for a in alive if a["chosen"] and a["reward"] > mean + SAME]
    return max((max(0.0, average - answer["logprob"]) for answer in won), default=0.0)
