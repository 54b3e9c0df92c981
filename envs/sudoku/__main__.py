"""`python -m envs.sudoku`: the figures of README.md, measured.

How good are perfect answers and the demonstrations, how long are prompts and answers, how many
turns a second does the environment judge, how many puzzles a second does it make, how few kinds of
small ones there are, and how long does a task far down a stream of them take.
"""

import time
from random import Random

from envs.base import JSON, Split
from envs.measuring import demonstrations, success, turns_per_second
from envs.sudoku import numbering
from envs.sudoku.board import BLANK, BOXES, board, fills_of
from envs.sudoku.environment import Sudoku, make_sudoku
from envs.sudoku.numbering import num_candidates, numbered
from envs.sudoku.program import KEYWORD
from envs.sudoku.prompts import answer
from envs.sudoku.solver import count_solutions
from envs.sudoku.state import SudokuState
from envs.sudoku.symmetry import relabelled_digest

TINY = {"num_clues": [6, 8], "tool": "search", "prompt_style": "compact"}
FAR: tuple[tuple[dict[str, JSON], Split, int], ...] = (
    ({}, Split.TRAIN, 19_072),
    ({"num_clues": 4}, Split.TEST, 500),
    ({"num_clues": 4}, Split.TEST, 1_500),
    ({"num_clues": [8, 15]}, Split.TRAIN, 1_000_000),
    ({"num_clues": 6, "distinct": "identity"}, Split.TRAIN, 19_072),
)
"""Options, split and index of tasks that are drawn alone, each from a seed of its own."""


def main() -> None:
    """Print the figures."""
    env, rng = make_sudoku(TINY, "dense"), Random(0)
    tasks = env.tasks(Split.VALIDATION, 0, 0, 500)
    print(f"perfect tool, copying planner: {success(env, tasks, lambda *at: _perfect(env, *at))}")
    shown, longest = demonstrations(env, tasks, rng)
    print(f"demonstrations: {shown}")
    print(f"longest prompt {longest[0]} words, longest answer {longest[1]}")
    alone = make_sudoku({**TINY, "roles": "planner"}, "dense")
    print(f"demonstrations of the single agent: {demonstrations(alone, tasks, rng)[0]}")
    print(f"4x4 puzzles apart from relabelling: {_kinds(4)} with 4 clues, {_kinds(5)} with 5")
    for size in BOXES:
        _speed(size)
    for options, split, index in FAR:
        _reach(options, split, index)


def _perfect(env: Sudoku, state: SudokuState, role: str) -> str:
    """List all clues; copy the fills."""
    if role == "tool":
        names = board(env.options.size).names
        return " ".join([KEYWORD, *(names[fill] for fill in fills_of(state.clues))])
    return answer(env.options, list(state.proposal.placed.fills) if state.proposal else [])


def _kinds(num_clues: int) -> int:
    """Digests of all 4x4 puzzles with one solution."""
    puzzles = (numbered(num_clues, number) for number in range(num_candidates(num_clues)))
    named = (puzzle for puzzle in puzzles if _in_order(puzzle))
    return len({relabelled_digest(puzzle) for puzzle in named if count_solutions(puzzle) == 1})


def _in_order(puzzle: str) -> bool:
    """Whether new digits appear in ascending order: one of up to 24 renamings."""
    seen = list(dict.fromkeys(symbol for symbol in puzzle if symbol != BLANK))
    return seen == sorted(seen) and "".join(seen) == "1234"[: len(seen)]


def _speed(size: int) -> None:
    env = make_sudoku({"size": size}, "dense")
    began = time.process_time()
    tasks = env.tasks(Split.TRAIN, 0, 0, 300)
    made = len(tasks) / (time.process_time() - began)
    puzzles = ["".join(task.payload["rows"]) for task in tasks]
    began = time.process_time()
    for puzzle in puzzles:
        count_solutions(puzzle)
    checked = len(puzzles) / (time.process_time() - began)
    turns = {
        name: turns_per_second(make_sudoku({**options, "size": size}, "dense"), tasks)
        for name, options in {"paper": {}, "compact": {"prompt_style": "compact"}}.items()
    }
    print(
        f"{size}x{size}: {turns['paper']:.0f} turns/CPU s ({turns['compact']:.0f} compact), "
        f"{made:.0f} puzzles/CPU s made, {checked:.0f} checked"
    )


def _reach(options: dict[str, JSON], split: Split, index: int) -> None:
    env, began = make_sudoku(options, "dense"), time.process_time()
    for known in (numbering._kinds, numbering.num_puzzles):
        known.cache_clear()
    env.tasks(split, 1 + index, index, 1)
    seconds = time.process_time() - began
    print(
        f"4x4 {options or 'by default'}, {split.value}: task {index} alone in {seconds:.2f} CPU s"
    )


if __name__ == "__main__":
    main()
