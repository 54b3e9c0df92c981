"""`python -m envs.sokoban`: the figures of README.md, measured. `... FILE`: check a level file.

How levels are spread, how good perfect answers and the demonstrations are, how long prompts and
answers are, and how many turns a second the environment judges.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from envs.base import HasLexicon, Split
from envs.measuring import demonstrations, success, turns_per_second
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
    tasks, rng = env.tasks(Split.VALIDATION, 0, 0, 500), Random(0)
    print(f"perfect tool, copying planner: {success(env, tasks, _perfect)}")
    print(f"tool that names no wall, copying planner: {success(env, tasks, _blind)}")
    shown, longest = demonstrations(env, tasks, rng)
    print(f"demonstrations: {shown}")
    words = len(env.lexicon()) if isinstance(env, HasLexicon) else 0
    print(f"longest prompt {longest[0]} words, longest answer {longest[1]}, lexicon {words}")
    print(f"demonstrations of the single agent: {demonstrations(alone, tasks, rng)[0]}")
    for name in ("6x6, 1 box", "tiny models"):
        timed = make_sokoban(SIZES[name], "dense")
        rate = turns_per_second(timed, timed.tasks(Split.TRAIN, 0, 0, 500))
        print(f"{name}: {rate:.0f} turns/CPU s")


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
