"""What an action earns; README.md has the table.

d is the number of pushes that the boxes still need at least (room.py), span what it can be at most.
Progress is a difference of the potential -d / span: it lies in [-1, 1], sums to zero over every
loop and is zero for walking without pushing. It is -1 where the boxes are stuck, which ends the
episode. What else is paid on the way is a share of a gain, and a loss is charged in full, so
pushing to and fro, within a turn or over several, never earns.
"""

from collections.abc import Mapping

from envs.base import Bounds, RewardPreset, Rewards
from envs.sokoban.room import Level, remaining, span
from envs.sokoban.walk import Walk, Word

FORMAT, DEADLOCK, LEGAL, SHORT, PROGRESS = -0.2, -0.3, 0.2, 0.2, 0.5
_UNIT = Bounds(0.0, 1.0)
_SHAPED = Bounds(-PROGRESS, 1.0)
_DENSE = {
    "format": Bounds(FORMAT, 0.0),
    "deadlock": Bounds(DEADLOCK, 0.0),
    "legal": Bounds(-LEGAL, LEGAL),
    "short": Bounds(0.0, SHORT),
}


def presets(roles: tuple[str, ...]) -> dict[str, RewardPreset]:
    """The declared parts and bounds of `dense` and `outcome` for these roles; the last one acts."""
    dense: dict[str, Mapping[str, Bounds]] = {roles[-1]: _DENSE}
    outcome: dict[str, Mapping[str, Bounds]] = {roles[-1]: {}}
    for tool in roles[:-1]:
        dense[tool] = {**_DENSE, "route": _SHAPED}
        outcome[tool] = {"solves": _UNIT}
    return {"dense": RewardPreset(_SHAPED, dense), "outcome": RewardPreset(_UNIT, outcome)}


def acting_rewards(preset: str, level: Level, walk: Walk) -> Rewards:
    """Of a turn's walk from `level`: the team's part is where the boxes now stand."""
    if preset == "outcome":
        return Rewards(float(walk.word is Word.OK), {})
    return Rewards(*_dense(level, walk))


def tool_rewards(preset: str, level: Level, walk: Walk) -> Rewards:
    """Of a proposal, walked on a copy: nothing has moved, so the team's part is 0."""
    if preset == "outcome":
        return Rewards(0.0, {"solves": float(walk.word is Word.OK)})
    route, parts = _dense(level, walk)
    return Rewards(0.0, {**parts, "route": route})


def unjudged(preset: RewardPreset, role: str) -> Rewards:
    """Zeros, where the sandbox failed: nothing is known of the answer."""
    return Rewards(0.0, dict.fromkeys(preset.local[role], 0.0))


def _dense(level: Level, walk: Walk) -> tuple[float, dict[str, float]]:
    """(1 when solved, else half of the progress; the role's own parts).

    legal: the progress, of a gain only the share net / pushes, net being how much smaller d has
    become, and no gain at all if an action was not possible. short: d / pushes, when solved.
    """
    if not walk.num_pushes:
        malformed = FORMAT if walk.word is Word.ERROR else 0.0
        return 0.0, {"format": malformed, "deadlock": 0.0, "legal": 0.0, "short": 0.0}
    before, most = remaining(level.room, level.boxes), span(level.room, level.boxes)
    after = remaining(level.room, walk.boxes)
    stuck = after < 0
    net = -most if stuck else before - after
    progress, solved = net / most, walk.word is Word.OK
    legal = min(progress, 0.0)
    if net > 0 and walk.word is not Word.HIT:
        legal = progress * net / walk.num_pushes
    parts = {
        "format": 0.0,
        "deadlock": DEADLOCK if stuck else 0.0,
        "legal": LEGAL * legal,
        "short": SHORT * before / walk.num_pushes if solved else 0.0,
    }
    return 1.0 if solved else PROGRESS * progress, parts
