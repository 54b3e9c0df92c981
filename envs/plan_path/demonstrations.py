"""Example answers for the warm start: of mixed, mostly poor quality, as the options say."""

from random import Random

from envs.plan_path.example_scripts import draw_script
from envs.plan_path.grid import DIRECTIONS, Cell, members, shortest_path
from envs.plan_path.options import PlanPathOptions
from envs.plan_path.state import PlanPathState
from envs.plan_path.team import is_tool
from envs.plan_path.walk import answer, as_words


def demonstrate(options: PlanPathOptions, state: PlanPathState, role: str, rng: Random) -> str:
    """An example text of `role`, well-formed but seldom good."""
    if is_tool(role) and options.tool == "search":
        return _program(options, state, rng)
    if is_tool(role) and options.tool == "program":
        return draw_script(options, state, rng)
    if not is_tool(role) and options.roles == "team":
        return _write(options, state, _decision(options, state, rng))
    return _write(options, state, _route(options, state, rng))


def _program(options: PlanPathOptions, state: PlanPathState, rng: Random) -> str:
    shares = options.demonstrations
    walls = list(members(state.grid.walls))
    start, avoid = state.position, []
    kind = rng.random()
    if kind < shares.all_walls:
        avoid = walls
    elif kind < shares.all_walls + shares.some_walls:
        avoid = [cell for cell in walls if rng.random() < 0.5]
    elif kind >= shares.all_walls + shares.some_walls + shares.no_walls:
        others = members(state.grid.board.full & ~(1 << state.position | 1 << state.goal))
        start = rng.choice(list(others) or [state.position])
    names = state.grid.board.names
    words = ["path", names[start], names[state.goal]]
    return " ".join([*words, *(["avoid"] if avoid else []), *(names[cell] for cell in avoid)])


def _decision(options: PlanPathOptions, state: PlanPathState, rng: Random) -> list[Cell]:
    """A planner with tools: the route of one of them, straight to the goal, or one step."""
    shares = options.demonstrations
    kind = rng.random()
    routes = [proposal.walk.cells for proposal in state.proposals if proposal.walk.cells]
    if kind < shares.copy_route and routes:
        return list(routes[0] if len(routes) == 1 else rng.choice(routes))
    straight = _straight(state, rng)
    return straight if kind < shares.copy_route + shares.copy_straight else straight[:1]


def _route(options: PlanPathOptions, state: PlanPathState, rng: Random) -> list[Cell]:
    """A role that has to find the way itself."""
    shares = options.demonstrations
    kind = rng.random()
    if kind < shares.shortest:
        return list(_shortest(state))
    if kind < shares.shortest + shares.straight:
        return _straight(state, rng)
    if rng.random() < 0.5:
        return _straight(state, rng)[:1]
    path = list(_shortest(state))
    path[rng.randrange(len(path))] = rng.choice(list(members(state.grid.board.full)))
    return path


def _shortest(state: PlanPathState) -> tuple[Cell, ...]:
    grid = state.grid
    path = shortest_path(grid.height, grid.width, grid.walls, state.position, state.goal)
    return path or ()


def _straight(state: PlanPathState, rng: Random) -> list[Cell]:
    """Along the row and then the column, or the other way round, blind to walls."""
    width = state.grid.width
    cell, cells = state.position, []
    for axis in rng.sample(("row", "column"), 2):
        stride = width if axis == "row" else 1
        here, there = (
            (cell // width, state.goal // width)
            if axis == "row"
            else (cell % width, state.goal % width)
        )
        for _ in range(abs(there - here)):
            cell += stride if there > here else -stride
            cells.append(cell)
    return cells


def _write(options: PlanPathOptions, state: PlanPathState, cells: list[Cell]) -> str:
    """The cells as an answer; within the word limit, and in moves a jump becomes a random-looking
    but fixed direction, since directions cannot name a cell that is not next to the last."""
    compact = options.prompt_style == "compact"
    words = as_words(state.grid, state.position, cells, options.action_language)
    if options.action_language == "moves":
        words = [
            word if word in DIRECTIONS else DIRECTIONS[cell % 4]
            for word, cell in zip(words, cells, strict=True)
        ]
    return answer(words[: options.word_limit] if compact else words, compact)
