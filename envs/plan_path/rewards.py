"""What an action earns. Distances are steps of a shortest path; README.md has the table.

Progress is a difference of the potential -distance / span, where span is the largest distance of
any cell to the goal: it lies in [-1, 1], sums to zero over every loop, and is zero for standing
still. The other parts pay only where a turn ends nearer to the goal than any turn before, so
walking to and fro earns nothing either.
"""

from collections.abc import Mapping

from envs.base import Bounds, RewardPreset, Rewards
from envs.plan_path.grid import Cell, Distances
from envs.plan_path.walk import Walk, Word

FORMAT, LEGAL, SHORT, PROGRESS = -0.2, 0.1, 0.2, 0.5
_UNIT = Bounds(0.0, 1.0)
_SHAPED = Bounds(-PROGRESS, 1.0)
_DENSE = {"format": Bounds(FORMAT, 0.0), "legal": Bounds(0.0, LEGAL), "short": Bounds(0.0, SHORT)}


def presets(roles: tuple[str, ...]) -> dict[str, RewardPreset]:
    """The declared parts and bounds of `dense` and `outcome` for these roles."""
    dense: dict[str, Mapping[str, Bounds]] = {"planner": _DENSE}
    outcome: dict[str, Mapping[str, Bounds]] = {"planner": {}}
    if "tool" in roles:
        dense["tool"] = {**_DENSE, "route": _SHAPED}
        outcome["tool"] = {"solves": _UNIT}
    return {"dense": RewardPreset(_SHAPED, dense), "outcome": RewardPreset(_UNIT, outcome)}


def planner_rewards(
    preset: str, walk: Walk, position: Cell, field: Distances, closest: int
) -> Rewards:
    """Of a turn's walk from `position`: the team's part is where the team now stands."""
    solved = walk.word is Word.OK
    if preset == "outcome":
        return Rewards(float(solved), {})
    return Rewards(_shaped(walk, position, field), _parts(walk, position, field, closest))


def tool_rewards(
    preset: str, walk: Walk, position: Cell, field: Distances, closest: int
) -> Rewards:
    """Of a proposal, walked on a copy: nobody has moved, so the team's part is 0."""
    if preset == "outcome":
        return Rewards(0.0, {"solves": float(walk.word is Word.OK)})
    route = _shaped(walk, position, field)
    return Rewards(0.0, {**_parts(walk, position, field, closest), "route": route})


def _shaped(walk: Walk, position: Cell, field: Distances) -> float:
    """1 at the goal, else half of the progress."""
    if walk.word is Word.OK:
        return 1.0
    gained = field.steps[position] - field.steps[walk.end(position)]
    return PROGRESS * gained / field.span


def _parts(walk: Walk, position: Cell, field: Distances, closest: int) -> dict[str, float]:
    """format: malformed text. legal: share of the actions that lie on a shortest path from where
    they are taken, if none is illegal. short: shortest / taken steps, at the goal."""
    parts = {"format": FORMAT if walk.word is Word.ERROR else 0.0, "legal": 0.0, "short": 0.0}
    if walk.word not in (Word.OK, Word.SHORT) or not walk.cells:
        return parts
    steps = field.steps
    if steps[walk.cells[-1]] < closest:
        before = (position, *walk.cells)
        nearer = sum(steps[to] < steps[cell] for cell, to in zip(before, walk.cells, strict=False))
        parts["legal"] = LEGAL * nearer / len(walk.cells)
    if walk.word is Word.OK:
        parts["short"] = SHORT * steps[position] / len(walk.cells)
    return parts
