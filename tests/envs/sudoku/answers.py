"""Option sets that the shared tests play, and readable answers that no state allows."""

from envs.sudoku.board import DIGITS, board, fills_of
from envs.sudoku.prompts import answer

FUZZED = (
    ({}, "dense"),
    ({"answer": "grid"}, "dense"),
    ({"tool": "search", "prompt_style": "compact"}, "dense"),
    ({"tool": "search", "size": 6}, "outcome"),
    ({"roles": "planner", "size": 9}, "dense"),
    ({"tool": "program", "sandbox": {"cpu_s": 0.3}}, "dense"),
)


def invalid(env, state, role):
    """Fills that change a clue, or that clash with one."""
    if role == "tool" and env.options.tool != "moves":
        return []
    size = env.options.size
    clue = fills_of(state.clues)[0]
    changed = clue - clue % size + (clue % size + 1) % size
    peers = board(size).peers[clue // size]
    blanks = [cell for cell in peers if state.clues[cell] not in DIGITS]
    clashes = [cell * size + clue % size for cell in blanks[:1]]
    return [answer(env.options, [fill]) for fill in (changed, *clashes)]
