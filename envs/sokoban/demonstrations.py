"""Example answers for the warm start: of mixed, mostly poor quality, as the options say."""

from random import Random

from envs.sokoban.board import DIRECTIONS, Cell, members
from envs.sokoban.example_program import printing, searching
from envs.sokoban.options import SokobanOptions, word_limit
from envs.sokoban.prompts import answer
from envs.sokoban.room import Level
from envs.sokoban.solver import Objective, Undecided, solve
from envs.sokoban.state import SokobanState
from envs.sokoban.walk import as_words

LIMIT = 5_000
"""Positions that the solver looks at for an example; beyond it, one legal step is shown."""


def demonstrate(options: SokobanOptions, state: SokobanState, role: str, rng: Random) -> str:
    """An example text of `role`, well-formed but seldom good."""
    if role == "tool" and options.tool == "search":
        return _search_program(options, state.level, rng)
    if role == "planner" and options.roles == "team":
        return _write(options, state.level, _decision(options, state, rng))
    if role == "tool" and options.tool == "program":
        if rng.random() < options.demonstrations.shortest:
            return searching(options.action_language)
        return printing(answer(_route(options, state.level, rng), compact=False))
    return _write(options, state.level, _route(options, state.level, rng))


def best_program(level: Level) -> list[str]:
    """The one-line program that names every wall, and each box with its goal of a solution."""
    names = level.room.board.names
    words = [word for box, goal in _ways(level) for word in ("push", names[box], names[goal])]
    walls = [names[cell] for cell in members(level.room.walls & ~level.room.board.ring)]
    return [*words, *(["avoid", *walls] if walls else [])]


def _search_program(options: SokobanOptions, level: Level, rng: Random) -> str:
    shares, kind = options.demonstrations, rng.random()
    words = best_program(level)
    end = words.index("avoid") if "avoid" in words else len(words)
    pairs, walls = words[:end], words[end + 1 :]
    if kind >= shares.all_walls:
        walls = [wall for wall in walls if rng.random() < 0.5]
    if kind >= shares.all_walls + shares.some_walls:
        walls = []
    if kind >= shares.all_walls + shares.some_walls + shares.no_walls:
        pairs[-1] = rng.choice(list(level.room.board.inner))
    return " ".join([*pairs, *(["avoid", *walls] if walls else [])])


def _ways(level: Level) -> list[tuple[Cell, Cell]]:
    """Box and goal of each box that a solution moves, in the order in which they are last moved;
    a box that another one has to wait for may make such a program fail."""
    boxes, player, origin = level.boxes, level.player, dict[Cell, Cell]()
    for cell in _solution(level, "pushes"):
        if boxes >> cell & 1:
            beyond = 2 * cell - player
            boxes ^= 1 << cell | 1 << beyond
            origin[beyond] = origin.pop(cell, cell)
        player = cell
    ways = [(box, goal) for goal, box in origin.items() if box != goal]
    box, goal = level.boxes.bit_length() - 1, level.room.goals.bit_length() - 1
    return ways or [(box, goal)]


def _decision(options: SokobanOptions, state: SokobanState, rng: Random) -> list[str]:
    """A planner with a tool: what the tool's text led to, the first half, or its own idea."""
    shares, kind = options.demonstrations, rng.random()
    walk = state.proposal.walk if state.proposal else None
    if walk and walk.cells and kind < shares.copy_route + shares.copy_start:
        words = as_words(state.level, walk.cells, options.action_language)
        if words:
            return words if kind < shares.copy_route else _half(options, words)
    return _route(options, state.level, rng)


def _route(options: SokobanOptions, level: Level, rng: Random) -> list[str]:
    """A role that has to find the way itself."""
    shares, kind = options.demonstrations, rng.random()
    words = _solved(options, level) or _step(options, level, rng)
    if kind < shares.shortest:
        return words
    if kind < shares.shortest + shares.start:
        return _half(options, words)
    places = [place for place, word in enumerate(words) if word != "push"]
    others = DIRECTIONS if options.action_language == "moves" else list(level.room.board.inner)
    words[rng.choice(places[: (len(places) + 1) // 2])] = rng.choice(others)
    return words


def _half(options: SokobanOptions, words: list[str]) -> list[str]:
    """The first half; of pushes whole ones, and one of them at least."""
    count = (len(words) + 1) // 2
    if options.action_language == "pushes":
        count = max(3, count)
        while "push" in words[count - 2 : count]:
            count -= 1
    return words[:count]


def _step(options: SokobanOptions, level: Level, rng: Random) -> list[str]:
    """Where no solution is known: a direction, a cell next to the player, or a push of a box."""
    table = level.room.board
    if options.action_language == "moves":
        return [rng.choice(DIRECTIONS)]
    if options.action_language == "cells":
        return [table.names[rng.choice(_around(level, level.player))]]
    box = rng.choice(list(members(level.boxes)))
    return ["push", table.names[box], table.names[rng.choice(_around(level, box))]]


def _around(level: Level, cell: Cell) -> list[Cell]:
    """Its neighbours; itself where all are walls of the board's edge."""
    table = level.room.board
    return [near for near in table.neighbours[cell] if not table.ring >> near & 1] or [cell]


def _solved(options: SokobanOptions, level: Level) -> list[str]:
    """A shortest solution in words, of pushes where these are the words."""
    objective: Objective = "pushes" if options.action_language == "pushes" else "moves"
    return as_words(level, _solution(level, objective), options.action_language)


def _solution(level: Level, objective: Objective) -> tuple[Cell, ...]:
    """Empty if there is none, or it is too hard to find."""
    try:
        found = solve(level, objective, LIMIT)
    except Undecided:
        return ()
    return found.cells if found else ()


def _write(options: SokobanOptions, level: Level, words: list[str]) -> str:
    limit = word_limit(options, level.room)
    return answer(words[:limit], limit is not None)
