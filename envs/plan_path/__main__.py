"""`python -m envs.plan_path`: the figures of README.md, measured.

How good are perfect answers and the demonstrations, how long are prompts and answers, and how
many turns a second does the environment judge.
"""

from collections.abc import Sequence
from random import Random

from envs.base import Split, Task
from envs.measuring import demonstrations, success, turns_per_second
from envs.plan_path.environment import PlanPath, make_plan_path
from envs.plan_path.grid import members
from envs.plan_path.state import PlanPathState
from envs.plan_path.team import is_tool
from envs.plan_path.walk import Word, answer, as_words

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
    for num_tools in (1, 2, 4):
        _print_team(make_plan_path({**QUICKSTART, "num_tools": num_tools}, "dense"), tasks)
    for name, options in {"10x10 paper": {}, "6x6 compact": QUICKSTART}.items():
        timed = make_plan_path(options, "dense")
        rate = turns_per_second(timed, timed.tasks(Split.TRAIN, 0, 0, 500))
        print(f"{name}: {rate:.0f} turns/CPU s")


def _print_team(env: PlanPath, tasks: Sequence[Task]) -> None:
    """Of one tool or several."""
    size, (shown, longest) = env.options.num_tools, demonstrations(env, tasks, Random(0))
    print(f"num_tools {size}, demonstrations: {shown}; longest prompt {longest[0]} words")
    print(f"num_tools {size}, demonstrated tools, judging planner: {_judged(env, tasks)}")


def _judged(env: PlanPath, tasks: Sequence[Task]) -> str:
    """Success where the planner copies a route that ends at the goal, if it sees one."""
    rng = Random(0)

    def write(state: PlanPathState, role: str) -> str:
        if is_tool(role):
            return env.demonstrate(state, role, rng)
        walks = [proposal.walk for proposal in state.proposals]
        best = next((walk for walk in walks if walk.word is Word.OK), walks[0])
        return answer(as_words(state.grid, state.position, best.cells, "cells"), compact=True)

    return success(env, tasks, write)


def _perfect(env: PlanPath, state: PlanPathState, role: str) -> str:
    """Name all walls; copy the route."""
    names = state.grid.board.names
    if is_tool(role):
        walls = [names[wall] for wall in members(state.grid.walls)]
        return " ".join(["path", names[state.position], names[state.goal], "avoid", *walls])
    route = state.proposals[0].walk.cells if state.proposals else ()
    return answer(as_words(state.grid, state.position, route, "cells"), compact=True)


if __name__ == "__main__":
    main()
