"""What an action earns. Distances are steps of a shortest path; README.md has the table.

Progress is a difference of the potential -distance / span, where span is the largest distance of
any cell to the goal: it lies in [-1, 1], sums to zero over every loop and is zero for standing
still. What else is paid on the way is a share of a gain, and a loss is charged in full, so walking
to and fro, within a turn or over several, never earns.
"""

from collections.abc import Mapping

from envs.base import Bounds, RewardPreset, Rewards
from envs.plan_path.grid import Cell, Distances
from envs.plan_path.walk import Walk, Word

FORMAT, LEGAL, SHORT, PROGRESS = -0.2, 0.2, 0.2, 0.5
_UNIT = Bounds(0.0, 1.0)
_SHAPED = Bounds(-PROGRESS, 1.0)
_DENSE = {
    "format": Bounds(FORMAT, 0.0),
    "legal": Bounds(-LEGAL, LEGAL),
    "short": Bounds(0.0, SHORT),
}


def presets(roles: tuple[str, ...]) -> dict[str, RewardPreset]:
    """The declared parts and bounds of `dense` and `outcome` for these roles; the last one acts."""
    last = roles[-1]
    dense: dict[str, Mapping[str, Bounds]] = {last: _DENSE}
    outcome: dict[str, Mapping[str, Bounds]] = {last: {}}
    for tool in roles[:-1]:
        dense[tool] = {**_DENSE, "route": _SHAPED}
        outcome[tool] = {"solves": _UNIT}
    return {"dense": RewardPreset(_SHAPED, dense), "outcome": RewardPreset(_UNIT, outcome)}


def acting_rewards(preset: str, walk: Walk, position: Cell, field: Distances) -> Rewards:
    """Of a turn's walk from `position`: the team's part is where the team now stands."""
    solved = walk.word is Word.OK
    if preset == "outcome":
        return Rewards(float(solved), {})
    return Rewards(_shaped(walk, position, field), _parts(walk, position, field))


def tool_rewards(preset: str, walk: Walk, position: Cell, field: Distances) -> Rewards:
    """Of a proposal, walked on a copy: nobody has moved, so the team's part is 0."""
    if preset == "outcome":
        return Rewards(0.0, {"solves": float(walk.word is Word.OK)})
    route = _shaped(walk, position, field)
    return Rewards(0.0, {**_parts(walk, position, field), "route": route})


def _shaped(walk: Walk, position: Cell, field: Distances) -> float:
    """1 at the goal, else half of the progress."""
    return 1.0 if walk.word is Word.OK else PROGRESS * _progress(walk, position, field)


def _progress(walk: Walk, position: Cell, field: Distances) -> float:
    return (field.steps[position] - field.steps[walk.end(position)]) / field.span


def _parts(walk: Walk, position: Cell, field: Distances) -> dict[str, float]:
    """format: nothing that can be walked was written. legal: the progress, of a gain only the
    share of actions that lie on a shortest path from where they are taken, and no gain at all if
    an action is illegal. short: shortest / taken steps, at the goal."""
    malformed = FORMAT if walk.word is Word.ERROR else 0.0
    gain = _progress(walk, position, field)
    legal = min(gain, 0.0)
    if gain > 0 and walk.word is not Word.HIT:
        legal = gain * _share_on_shortest(walk, position, field)
    short = field.steps[position] / len(walk.cells) if walk.word is Word.OK else 0.0
    return {"format": malformed, "legal": LEGAL * legal, "short": SHORT * short}


def _share_on_shortest(walk: Walk, position: Cell, field: Distances) -> float:
    nearer, distance = 0, field.steps[position]
    for cell in walk.cells:
        nearer += field.steps[cell] < distance
        distance = field.steps[cell]
    return nearer / len(walk.cells)
