"""What an answer earns; README.md has the table.

Progress is a difference of the potential (right - wrong) / blanks, where right and wrong count own
fills by the unique solution: it sums to zero over every loop, so erasing and filling again never
earns, and a fill guessed with even odds is worth nothing. What else is paid on the way is a share
of a gain, and a loss is charged in full.
"""

from collections.abc import Mapping
from operator import eq

from envs.base import Bounds, RewardPreset, Rewards
from envs.sudoku.board import BLANK, DIGITS
from envs.sudoku.placing import Placed, Word

FORMAT, CLUE, LEGAL, PROGRESS = -0.2, -0.2, 0.1, 0.5
_UNIT = Bounds(0.0, 1.0)
_SHAPED = Bounds(-1.0, 1.0)
_DENSE = {
    "format": Bounds(FORMAT, 0.0),
    "clue": Bounds(CLUE, 0.0),
    "legal": Bounds(-2 * LEGAL, 2 * LEGAL),
}


def presets(roles: tuple[str, ...]) -> dict[str, RewardPreset]:
    """The declared parts and bounds of `dense` and `outcome` for these roles."""
    dense: dict[str, Mapping[str, Bounds]] = {"planner": _DENSE}
    outcome: dict[str, Mapping[str, Bounds]] = {"planner": {}}
    if "tool" in roles:
        dense["tool"] = {**_DENSE, "fills": _SHAPED}
        outcome["tool"] = {"solves": _UNIT}
    return {"dense": RewardPreset(_SHAPED, dense), "outcome": RewardPreset(_UNIT, outcome)}


def planner_rewards(preset: str, placed: Placed, progress: float, right_share: float) -> Rewards:
    """Of a turn's answer: the team's part is where the team now stands."""
    if preset == "outcome":
        return Rewards(float(placed.word is Word.OK), {})
    return Rewards(_shaped(placed, progress), _parts(placed, progress, right_share))


def tool_rewards(preset: str, placed: Placed, progress: float, right_share: float) -> Rewards:
    """Of a proposal, tried on a copy: nothing was placed, so the team's part is 0."""
    if preset == "outcome":
        return Rewards(0.0, {"solves": float(placed.word is Word.OK)})
    parts = _parts(placed, progress, right_share)
    return Rewards(0.0, {**parts, "fills": _shaped(placed, progress)})


def progress_of(clues: str, solution: str, before: str, after: str) -> float:
    """The potential's difference, in [-2, 2]."""
    gain = _right_less_wrong(after, solution) - _right_less_wrong(before, solution)
    return gain / clues.count(BLANK)


def right_share_of(placed: Placed, solution: str, size: int) -> float:
    """Share of the placed fills that are the solution's; 0 if there are none."""
    right = sum(solution[fill // size] == DIGITS[fill % size] for fill in placed.fills)
    return right / max(1, len(placed.fills))


def _right_less_wrong(grid: str, solution: str) -> int:
    """Clues count as right, which no difference shows."""
    num_right: int = sum(map(eq, grid, solution))
    return 2 * num_right - (len(grid) - grid.count(BLANK))


def _shaped(placed: Placed, progress: float) -> float:
    """1 for the complete grid, else half of the progress."""
    return 1.0 if placed.word is Word.OK else PROGRESS * progress


def _parts(placed: Placed, progress: float, right_share: float) -> dict[str, float]:
    """format: nothing could be read. clue: a clue would have changed. legal: the progress, of a
    gain only the share of right fills, and no gain at all after a clash."""
    legal = min(progress, 0.0)
    if progress > 0 and placed.word is not Word.CLASH:
        legal = progress * right_share
    return {
        "format": FORMAT if placed.word is Word.ERROR else 0.0,
        "clue": CLUE if placed.word is Word.CLUE else 0.0,
        "legal": LEGAL * legal,
    }
