"""Option sets that the shared tests play, and readable answers that no state allows."""

from envs.sokoban.board import DIRECTIONS
from envs.sokoban.prompts import answer
from tests.envs.sokoban.drawings import TINY

FUZZED = [
    ({}, "dense"),
    (TINY, "dense"),
    ({"prompt_style": "compact", "action_language": "cells", "roles": "planner"}, "dense"),
    ({"tool": "search", "action_language": "pushes", "num_boxes": 2}, "outcome"),
    ({"tool": "program", "action_language": "cells"}, "dense"),
    ({**TINY, "roles": "tool"}, "dense"),
]


def invalid(env, state, role):
    """A step into a wall, a push that is blocked, a push where there is no box."""
    if role == "tool" and env.options.tool != "moves":
        return []
    level, compact = state.level, env.options.prompt_style == "compact"
    table, language = level.room.board, env.options.action_language
    around = table.neighbours[level.player]
    blocked = [side for side, cell in enumerate(around) if _is_blocked(level, cell)]
    if language == "moves":
        return [answer([DIRECTIONS[side]], compact) for side in blocked]
    if language == "cells":
        inside = [around[side] for side in blocked if not table.ring >> around[side] & 1]
        return [answer([table.names[cell]], compact) for cell in (level.player, *inside)]
    player = table.names[level.player]
    near = next(table.names[cell] for cell in around if not table.ring >> cell & 1)
    return [answer(["push", player, near], compact)]


def _is_blocked(level, cell):
    """Whether the player cannot step on this neighbour."""
    solid = level.room.walls | level.boxes
    beyond = 2 * cell - level.player
    return bool(level.room.walls >> cell & 1 or level.boxes >> cell & solid >> beyond & 1)
