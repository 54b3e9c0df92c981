"""What an answer earns; README.md has the table. All parts are 0 or their full value.

The team's part is 1 exactly when the episode is solved, so it can only fall to the role that
closes a turn: before it there is no final answer. The others are paid for their own answer.
"""

from collections.abc import Mapping

from envs.base import Bounds, RewardPreset, Rewards
from envs.maths.team import is_tool

FORMAT, BUILDS, EXECUTES, MATCH = 0.2, 0.1, 0.1, 0.8
_UNIT = Bounds(0.0, 1.0)
_WRITER = {"format": Bounds(0.0, FORMAT), "match": Bounds(0.0, MATCH)}
_TOOL = {
    "builds": Bounds(0.0, BUILDS),
    "executes": Bounds(0.0, EXECUTES),
    "match": Bounds(0.0, MATCH),
}


def presets(roles: tuple[str, ...]) -> dict[str, RewardPreset]:
    """The declared parts and bounds of `dense` and `outcome` for these roles."""
    dense: dict[str, Mapping[str, Bounds]] = {
        role: _TOOL if is_tool(role) else _WRITER for role in roles
    }
    outcome: dict[str, Mapping[str, Bounds]] = {role: {"match": _UNIT} for role in roles}
    return {"dense": RewardPreset(_UNIT, dense), "outcome": RewardPreset(_UNIT, outcome)}


def rewards(preset: str, signs: Mapping[str, bool], solved: bool) -> Rewards:
    """`signs`: part -> whether it was earned, of a writer (format, match) or a tool."""
    if preset == "outcome":
        return Rewards(float(solved), {"match": float(signs["match"])})
    worth = {"format": FORMAT, "builds": BUILDS, "executes": EXECUTES, "match": MATCH}
    return Rewards(float(solved), {part: worth[part] * sign for part, sign in signs.items()})
