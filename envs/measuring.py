"""How well and how fast an environment is played by its examples: the figures of READMEs.

`python -m envs.<name>` prints them. There is no model and no turn loop: each text is executed at
once.
"""

import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

from envs.base import Message, State, Status, StepResult, Task

NUM_TURNS = 3
Answer = Callable[[State, str], str]
"""(state, role) -> what the role writes."""


class Played(Protocol):
    """What of an environment with example answers is used here; see envs/base.py."""

    @property
    def roles(self) -> tuple[str, ...]: ...

    def reset(self, task: Task) -> State: ...

    def observe(self, state: State, role: str) -> list[Message]: ...

    def step(self, state: State, role: str, completion: str) -> StepResult: ...

    def demonstrate(self, state: State, role: str, rng: Random) -> str: ...


def success(env: Played, tasks: Sequence[Task], write: Answer) -> str:
    """`98.0% solved within 3 turns, 20.0% in the first`."""
    ends = [_solved_in(env, task, write) for task in tasks]
    first, solved = ends.count(0) / len(ends), 1 - ends.count(None) / len(ends)
    return f"{solved:.1%} solved within {NUM_TURNS} turns, {first:.1%} in the first"


def demonstrations(env: Played, tasks: Sequence[Task], rng: Random) -> tuple[str, tuple[int, int]]:
    """`success` of the example answers, and words of the longest (prompt, answer) on the way."""
    longest = (0, 0)

    def write(state: State, role: str) -> str:
        nonlocal longest
        text = env.demonstrate(state, role, rng)
        prompt = env.observe(state, role)[0]["content"]
        longest = (max(longest[0], len(prompt.split())), max(longest[1], len(text.split())))
        return text

    return success(env, tasks, write), longest


def turns_per_second(env: Played, tasks: Sequence[Task]) -> float:
    """Per CPU second. One turn of a role: its prompt, and one answer parsed, executed, rewarded."""
    rng, turns, seconds = Random(0), 0, 0.0
    for task in tasks:
        state = env.reset(task)
        for role in env.roles:
            text = env.demonstrate(state, role, rng)
            began = time.process_time()
            env.observe(state, role)
            state = env.step(state, role, text).state
            seconds += time.process_time() - began
            turns += 1
    return turns / seconds


def _solved_in(env: Played, task: Task, write: Answer) -> int | None:
    """The turn in which the task was solved; None if it was not."""
    state = env.reset(task)
    for turn in range(NUM_TURNS):
        for role in env.roles:
            result = env.step(state, role, write(state, role))
            if result.status is not Status.RUNNING:
                return turn if result.status is Status.SOLVED else None
            state = result.state
    return None
