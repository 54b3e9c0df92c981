"""Sudoku: turns per CPU second against a limit; making and checking puzzles beside reasoning-gym.

A turn is one role's prompt with one answer parsed, executed and rewarded, without a model. Both
checkers say of the same puzzles that they have one solution. Both generators make puzzles with
about as many clues: 36 of 81, 8 of 16.
"""

from random import Random

from envs.base import Split
from envs.sudoku.board import DIGITS
from envs.sudoku.carving import carve
from envs.sudoku.environment import make_sudoku
from envs.sudoku.solver import count_solutions
from tests.benchmarks.harness import Row, compare, cpu_seconds, row

LIMIT = 16_000
NINE, FOUR = {"size": 9, "num_clues": 36}, {"size": 4, "num_clues": 8}


def rows() -> list[Row]:
    """Turns of both sizes and styles, then generators and checkers."""
    return [
        turns("4x4, paper", FOUR, 1.0),
        turns("4x4, compact", {**FOUR, "prompt_style": "compact", "tool": "search"}, 1.0),
        turns("9x9, paper", NINE, None),
        *peers(),
    ]


def turns(name: str, options: dict, goal: float | None) -> Row:
    """The best of 5 rounds over 300 puzzles."""
    env, rng = make_sudoku(options, "dense"), Random(0)
    attempts = []
    for task in env.tasks(Split.TRAIN, 0, 0, 300):
        state = env.reset(task)
        for role in env.roles:
            text = env.demonstrate(state, role, rng)
            attempts.append((state, role, text))
            state = env.step(state, role, text).state

    def play() -> None:
        for state, role, text in attempts:
            env.observe(state, role)
            env.step(state, role, text)

    rate = len(attempts) / min(cpu_seconds(play) for _ in range(5))
    note = "a limit, not a peer: turns of one role per CPU second"
    return row(f"sudoku turn, {name}", rate, LIMIT, goal, "turns/s", note, higher_is_better=True)


def peers() -> list[Row]:
    """Seconds per puzzle, ours and reasoning-gym's, taking turns."""
    from reasoning_gym.games.mini_sudoku import MiniSudokuConfig, MiniSudokuDataset
    from reasoning_gym.games.sudoku import SudokuConfig, SudokuDataset

    nine = SudokuDataset(SudokuConfig(min_empty=45, max_empty=45, seed=0))
    four = MiniSudokuDataset(MiniSudokuConfig(min_empty=8, max_empty=8, seed=0))
    return [
        generation("9x9, 36 clues", NINE, nine, 4),
        generation("4x4, 8 clues", FOUR, four, 40),
        checking("9x9, 36 clues", NINE, nine, 10),
        checking("4x4, 8 clues", FOUR, four, 40),
    ]


def generation(name: str, options: dict, dataset, count: int) -> Row:
    """New puzzles in every round, nothing from a cache; the peer makes less per round if slower."""
    made = iter(range(10**9))

    def ours() -> None:
        number = next(made)
        if options["size"] == 9:
            for index in range(count):
                carve(9, options["num_clues"], Random(f"{number}/{index}"), lambda puzzle: True)
        else:
            make_sudoku(options, "dense").tasks(Split.TRAIN, number, 0, count)

    costs = compare(ours, lambda: [dataset[next(made)] for _ in range(count)], 3)
    rates = [count / cost for cost in costs]
    note = "reasoning-gym 0.1.25"
    return row(f"sudoku generation, {name}", *rates, 1.0, "puzzles/s", note, higher_is_better=True)


def checking(name: str, options: dict, dataset, count: int) -> Row:
    """Both judge the same puzzles and must agree."""
    size = options["size"]
    tasks = make_sudoku(options, "dense").tasks(Split.TRAIN, 0, 0, count)
    puzzles = ["".join(task.payload["rows"]) for task in tasks]
    boards = [
        [[DIGITS.find(symbol) + 1 for symbol in row] for row in task.payload["rows"]]
        for task in tasks
    ]
    assert all(len(board) == size for board in boards)

    def ours() -> None:
        assert all(count_solutions(puzzle) == 1 for puzzle in puzzles)

    def theirs() -> None:
        copies = [[list(line) for line in board] for board in boards]
        assert all(dataset._count_solutions(copy, 2) == 1 for copy in copies)

    rates = [count / cost for cost in compare(ours, theirs, 3)]
    note = "reasoning-gym 0.1.25, the same puzzles"
    return row(f"sudoku uniqueness, {name}", *rates, 1.0, "puzzles/s", note, higher_is_better=True)
