"""`python -m envs.plan_path`: the figures of README.md, measured.

How good are perfect answers and the demonstrations, how long are prompts and answers, and how
many turns a second does the environment judge.
"""

from random import Random

from envs.base import Split
from envs.measuring import demonstrations, success, turns_per_second
from envs.plan_path.environment import PlanPath, make_plan_path
from envs.plan_path.grid import members
from envs.plan_path.prompts import answer
from envs.plan_path.state import PlanPathState
from envs.plan_path.walk import as_words

QUICKSTART = {
    "height": 6, "width": 6, "num_walls": 10, "min_distance": 5, "detour_fraction": 0.5,
    "action_language": "cells", "tool": "search", "prompt_style": "compact",
}  # fmt: skip


def main() -> None:
    """Print the figures."""
    env, rng = make_plan_path(QUICKSTART, "dense"), Random(0)
    tasks = env.tasks(Split.VALIDATION, 0, 0, 500)
    print(f"perfect tool, copying planner: {success(env, tasks, lambda *at: _perfect(env, *at))}")
    shown, longest = demonstrations(env, tasks, rng)
    print(f"demonstrations: {shown}")
    print(f"longest prompt {longest[0]} words, longest answer {longest[1]}")
    alone = make_plan_path({**QUICKSTART, "roles": "planner"}, "dense")
    print(f"demonstrations of the single agent: {demonstrations(alone, tasks, rng)[0]}")
    for name, options in {"10x10 paper": {}, "6x6 compact": QUICKSTART}.items():
        timed = make_plan_path(options, "dense")
        rate = turns_per_second(timed, timed.tasks(Split.TRAIN, 0, 0, 500))
        print(f"{name}: {rate:.0f} turns/CPU s")


def _perfect(env: PlanPath, state: PlanPathState, role: str) -> str:
    """Name all walls; copy the route."""
    names = state.grid.board.names
    if role == "tool":
        walls = [names[wall] for wall in members(state.grid.walls)]
        return " ".join(["path", names[state.position], names[state.goal], "avoid", *walls])
    route = state.proposal.walk.cells if state.proposal else ()
    return answer(as_words(state.grid, state.position, route, "cells"), compact=True)


if __name__ == "__main__":
    main()
