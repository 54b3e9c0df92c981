"""Example answers: the reference answer or a damaged one, as the shares in the options say."""

import re
from random import Random

from envs.reasoning_gym.answers import CONFIRMED, tagged
from envs.reasoning_gym.grading import read, score
from envs.reasoning_gym.options import ReasoningGymOptions
from envs.reasoning_gym.state import GymState


def demonstrate(
    options: ReasoningGymOptions, config: str, state: GymState, role: str, rng: Random
) -> str:
    """An example text of `role`."""
    reference, kind = str(read(state.entry)["answer"]), rng.random()
    if role == "reasoner" or options.order == "parallel":
        right = kind < options.demonstrations.right
        return tagged(reference if right else damaged(reference))
    if kind >= options.demonstrations.judged:
        return CONFIRMED
    seen = state.proposal.answer if state.proposal else None
    return CONFIRMED if score(options.task, config, state.entry, seen) == 1.0 else tagged(reference)


def damaged(answer: str) -> str:
    """The answer with 1 added to its last number before any decimal point, or without its first
    character where there is no number."""
    numbers = list(re.finditer(r"(?<![\d.])[0-9]{1,15}", answer))
    if not numbers:
        return answer[1:] or "?"
    last = numbers[-1]
    return f"{answer[: last.start()]}{int(last.group()) + 1}{answer[last.end() :]}"
