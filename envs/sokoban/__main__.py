"""`python -m envs.sokoban`: the figures of README.md, measured. `... FILE`: check a level file.

How levels are spread, how good perfect answers and the demonstrations are, how long prompts and
answers are, and how many turns a second the environment judges.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from envs.base import HasLexicon, Split, Status, Task
from envs.options import parse_options
from envs.sokoban.checking import check
from envs.sokoban.demonstrations import best_program
from envs.sokoban.environment import Sokoban, make_sokoban
from envs.sokoban.levels import parse_rows
from envs.sokoban.options import SokobanOptions
from envs.sokoban.prompts import answer
from envs.sokoban.solver import solve
from envs.sokoban.state import SokobanState
from envs.sokoban.walk import as_words

TINY = {
    "num_walls": 3, "min_pushes": 3, "action_language": "pushes", "tool": "search",
    "prompt_style": "compact", "max_words": 12,
}  # fmt: skip
SIZES: Mapping[str, Mapping[str, Any]] = {
    "6x6, 1 box": {},
    "tiny models": TINY,
    "7x7, 2 boxes": {"height": 7, "width": 7, "num_boxes": 2},
    "10x10, 4 boxes": {"height": 10, "width": 10, "num_boxes": 4, "min_pushes": 8},
}
NUM_TURNS = 3
Answer = Callable[[SokobanState, str], str]


def main(arguments: Sequence[str]) -> int:
    """Print the figures, or check level files: 2 if they are refused, 1 if some are undecided."""
    chosen = _parser().parse_args(arguments)
    if chosen.path is None:
        _figures()
        return 0
    limits = {"solver_limit": chosen.solver_limit, "undecided": chosen.undecided}
    options = {"levels": chosen.path, "distinct": chosen.distinct, **limits}
    try:
        return check(parse_options(SokobanOptions, "sokoban", options))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m envs.sokoban",
        description="Check level files before they are used (option `levels` of the environment), "
        "or print the figures of its README.",
        epilog="The check reads XSB marks (`#@$.*+`), refuses the whole at the first fault, and "
        "tries to solve every level. Exit status: 0 usable, 1 some levels undecided, 2 refused. "
        "Example: python -m envs.sokoban levels/ --solver-limit 20000",
    )
    parser.add_argument(
        "path", nargs="?", metavar="FILE",
        help="a file of levels, or a folder of .txt, .xsb and .sok files; without it: the figures",
    )  # fmt: skip
    parser.add_argument(
        "--solver-limit", type=int, default=2_000, metavar="N",
        help="positions that the solver looks at, for each level (default 2000)",
    )  # fmt: skip
    parser.add_argument(
        "--undecided", choices=("refuse", "accept"), default="refuse",
        help="levels that are neither solved nor refuted by then (default refuse)",
    )  # fmt: skip
    parser.add_argument(
        "--distinct", choices=("mirrored", "identity"), default="mirrored",
        help="which levels count as the same one (default mirrored: also turned and mirrored ones)",
    )  # fmt: skip
    return parser


def _figures() -> None:
    for name, options in SIZES.items():
        print(f"{name}: {_spread(make_sokoban(options, 'dense'))}")
    env, alone = (make_sokoban({**TINY, "roles": roles}, "dense") for roles in ("team", "planner"))
    tasks, rng, lengths = env.tasks(Split.VALIDATION, 0, 0, 500), Random(0), list[tuple[int, int]]()

    def shown(state: SokobanState, role: str) -> str:
        text = env.demonstrate(state, role, rng)
        lengths.append((len(env.observe(state, role)[0]["content"].split()), len(text.split())))
        return text

    print(f"perfect tool, copying planner: {_success(env, tasks, _perfect)}")
    print(f"tool that names no wall, copying planner: {_success(env, tasks, _blind)}")
    print(f"demonstrations: {_success(env, tasks, shown)}")
    longest = [max(column) for column in zip(*lengths, strict=True)]
    words = len(env.lexicon()) if isinstance(env, HasLexicon) else 0
    print(f"longest prompt {longest[0]} words, longest answer {longest[1]}, lexicon {words}")
    print(
        "demonstrations of the single agent: "
        f"{_success(alone, tasks, lambda state, role: alone.demonstrate(state, role, rng))}"
    )
    for name in ("6x6, 1 box", "tiny models"):
        print(f"{name}: {_turns_per_second(make_sokoban(SIZES[name], 'dense')):.0f} turns/CPU s")


def _spread(env: Sokoban) -> str:
    """Levels a second, and how long shortest solutions are."""
    count = 200 if env.options.num_boxes < 3 else 40
    began = time.process_time()
    tasks = env.tasks(Split.TRAIN, 1, 0, count)
    seconds = time.process_time() - began
    solutions = [solve(parse_rows(task.payload["rows"]), "pushes") for task in tasks]
    moves = _quantiles([len(found.cells) for found in solutions if found])
    pushes = _quantiles([found.num_pushes for found in solutions if found])
    return f"{count / seconds:.0f} levels/CPU s, pushes {pushes}, moves {moves}"


def _quantiles(values: Sequence[int]) -> str:
    """Least / median / most."""
    ordered = sorted(values)
    return f"{ordered[0]} / {ordered[len(ordered) // 2]} / {ordered[-1]}"


def _perfect(state: SokobanState, role: str) -> str:
    """Name all walls; copy what came of it."""
    if role == "tool":
        return " ".join(best_program(state.level))
    cells = state.proposal.walk.cells if state.proposal else ()
    return answer(as_words(state.level, cells, "pushes"), compact=True)


def _blind(state: SokobanState, role: str) -> str:
    """The same without a wall."""
    return _perfect(state, role).partition(" avoid")[0]


def _success(env: Sokoban, tasks: Sequence[Task], write: Answer) -> str:
    ends = [_play(env, task, write) for task in tasks]
    first, solved = ends.count(0) / len(ends), 1 - ends.count(None) / len(ends)
    return f"{solved:.1%} solved within {NUM_TURNS} turns, {first:.1%} in the first"


def _play(env: Sokoban, task: Task, write: Answer) -> int | None:
    """The turn in which the level was solved."""
    state = env.reset(task)
    for turn in range(NUM_TURNS):
        for role in env.roles:
            result = env.step(state, role, write(state, role))
            if result.status is not Status.RUNNING:
                return turn if result.status is Status.SOLVED else None
            state = result.state
    return None


def _turns_per_second(env: Sokoban) -> float:
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
    sys.exit(main(sys.argv[1:]))
