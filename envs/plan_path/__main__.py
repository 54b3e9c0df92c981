"""`python -m envs.plan_path`: the figures of README.md, measured.

How good are perfect answers and the demonstrations, how long are prompts and answers, and how
many turns a second does the environment judge.
"""

import time
from collections.abc import Callable, Sequence
from random import Random

from envs.base import Split, Status, Task
from envs.plan_path.environment import PlanPath, make_plan_path
from envs.plan_path.grid import members
from envs.plan_path.prompts import answer
from envs.plan_path.state import PlanPathState
from envs.plan_path.walk import as_words

QUICKSTART = {
    "height": 6, "width": 6, "num_walls": 10, "min_distance": 5, "detour_fraction": 0.5,
    "action_language": "cells", "tool": "search", "prompt_style": "compact",
}  # fmt: skip
NUM_TURNS = 3
Answer = Callable[[PlanPathState, str], str]


def main() -> None:
    """Print the figures."""
    env, rng = make_plan_path(QUICKSTART, "dense"), Random(0)
    tasks = env.tasks(Split.VALIDATION, 0, 0, 500)
    lengths: list[tuple[int, int]] = []

    def shown(state: PlanPathState, role: str) -> str:
        text = env.demonstrate(state, role, rng)
        lengths.append((len(env.observe(state, role)[0]["content"].split()), len(text.split())))
        return text

    print(f"perfect tool, copying planner: {_success(env, tasks, lambda *at: _perfect(env, *at))}")
    print(f"demonstrations: {_success(env, tasks, shown)}")
    longest = [max(column) for column in zip(*lengths, strict=True)]
    print(f"longest prompt {longest[0]} words, longest answer {longest[1]}")
    alone = make_plan_path({**QUICKSTART, "roles": "planner"}, "dense")
    print(
        "demonstrations of the single agent: "
        f"{_success(alone, tasks, lambda state, role: alone.demonstrate(state, role, rng))}"
    )
    for name, options in {"10x10 paper": {}, "6x6 compact": QUICKSTART}.items():
        print(f"{name}: {_turns_per_second(make_plan_path(options, 'dense')):.0f} turns/CPU s")


def _perfect(env: PlanPath, state: PlanPathState, role: str) -> str:
    """Name all walls; copy the route."""
    names = state.grid.board.names
    if role == "tool":
        walls = [names[wall] for wall in members(state.grid.walls)]
        return " ".join(["path", names[state.position], names[state.goal], "avoid", *walls])
    route = state.proposal.walk.cells if state.proposal else ()
    return answer(as_words(state.grid, state.position, route, "cells"), compact=True)


def _success(env: PlanPath, tasks: Sequence[Task], write: Answer) -> str:
    ends = [_play(env, task, write) for task in tasks]
    first, solved = ends.count(0) / len(ends), 1 - ends.count(None) / len(ends)
    return f"{solved:.1%} solved within {NUM_TURNS} turns, {first:.1%} in the first"


def _play(env: PlanPath, task: Task, write: Answer) -> int | None:
    """The turn in which the goal was reached."""
    state = env.reset(task)
    for turn in range(NUM_TURNS):
        for role in env.roles:
            result = env.step(state, role, write(state, role))
            state = result.state
        if result.status is Status.SOLVED:
            return turn
    return None


def _turns_per_second(env: PlanPath) -> float:
    """One turn of a role: its prompt, and one answer parsed, executed and rewarded."""
    rng, turns, seconds = Random(0), 0, 0.0
    for task in env.tasks(Split.TRAIN, 0, 0, 500):
        state = env.reset(task)
        for role in env.roles:
            text = env.demonstrate(state, role, rng)
            began = time.process_time()
            env.observe(state, role)
            state = env.step(state, role, text).state
            seconds += time.process_time() - began
            turns += 1
    return turns / seconds


if __name__ == "__main__":
    main()
