"""Example answers for the warm start: of mixed, mostly poor quality, as the options say."""

from random import Random

from envs.sudoku.board import BLANK, DIGITS, Fill, board, fills_of
from envs.sudoku.example_programs import example_program
from envs.sudoku.options import SudokuOptions
from envs.sudoku.program import KEYWORD
from envs.sudoku.prompts import answer
from envs.sudoku.solver import unique_solution
from envs.sudoku.state import SudokuState


def demonstrate(options: SudokuOptions, state: SudokuState, role: str, rng: Random) -> str:
    """An example text of `role`, well-formed but seldom good."""
    if role == "tool" and options.tool == "search":
        return _program(options, state, rng)
    if role == "tool" and options.tool == "program":
        return example_program(options, rng)
    if role == "planner" and options.roles == "team":
        return answer(options, _decision(options, state, rng))
    return answer(options, _fills(options, state, rng))


def _program(options: SudokuOptions, state: SudokuState, rng: Random) -> str:
    """All clues, the first few, a random part, or all with one digit wrong."""
    shares, clues = options.demonstrations, fills_of(state.clues)
    kind = rng.random()
    if kind < shares.all_clues:
        listed = clues
    elif kind < shares.all_clues + shares.few_clues:
        listed = clues[: rng.randint(1, 3)]
    elif kind < shares.all_clues + shares.few_clues + shares.some_clues:
        listed = [fill for fill in clues if rng.random() < 0.5] or clues[:1]
    else:
        listed = _damaged(options.size, clues, rng)
    names = board(options.size).names
    return " ".join([KEYWORD, *(names[fill] for fill in listed)])


def _decision(options: SudokuOptions, state: SudokuState, rng: Random) -> list[Fill]:
    """A planner with a tool: the tool's fills, the first of them, or one legal fill."""
    shares = options.demonstrations
    kind = rng.random()
    tried = list(state.proposal.placed.fills) if state.proposal else []
    if tried and kind < shares.copy_fills:
        return tried
    if tried and kind < shares.copy_fills + shares.copy_part:
        return tried[: rng.randint(1, len(tried))]
    return _legal(options.size, state.grid, rng)[:1] or _any(options, state, rng)


def _fills(options: SudokuOptions, state: SudokuState, rng: Random) -> list[Fill]:
    """A role that has to find the digits itself."""
    shares = options.demonstrations
    kind = rng.random()
    right = fills_of(unique_solution(state.clues) or state.clues, leave_out=state.clues)
    if kind < shares.solution:
        return right
    if kind < shares.solution + shares.legal:
        return _legal(options.size, state.grid, rng) or _any(options, state, rng)
    if rng.random() < 0.5:
        return [rng.choice(right)]
    return _damaged(options.size, right, rng)


def _legal(size: int, grid: str, rng: Random) -> list[Fill]:
    """A few digits that repeat none of their units, blind to what follows from them."""
    symbols, found = list(grid), []
    blanks = [cell for cell, symbol in enumerate(grid) if symbol == BLANK]
    for cell in rng.sample(blanks, min(len(blanks), rng.randint(1, size))):
        taken = {symbols[peer] for peer in board(size).peers[cell]}
        free = [digit for digit in DIGITS[:size] if digit not in taken]
        if free:
            symbols[cell] = rng.choice(free)
            found.append(cell * size + int(symbols[cell]) - 1)
    return found


def _any(options: SudokuOptions, state: SudokuState, rng: Random) -> list[Fill]:
    """A digit in a cell that is no clue, where nothing legal is left."""
    cells = [cell for cell, symbol in enumerate(state.clues) if symbol == BLANK]
    return [rng.choice(cells) * options.size + rng.randrange(options.size)]


def _damaged(size: int, fills: list[Fill], rng: Random) -> list[Fill]:
    """The fills with one digit exchanged."""
    changed, place = list(fills), rng.randrange(len(fills))
    cell, digit = divmod(fills[place], size)
    changed[place] = cell * size + (digit + rng.randrange(1, size)) % size
    return changed
