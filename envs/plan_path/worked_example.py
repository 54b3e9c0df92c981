"""The worked example of the paper style: a small grid, what was proposed for it, a right answer.

Of several tools, those before the last one went straight into a wall; the planner follows the last.
"""

from dataclasses import replace

from envs.plan_path.example_scripts import fenced, search_script
from envs.plan_path.grid import DIRECTIONS, Cell, members, parse_rows, shortest_path
from envs.plan_path.options import PlanPathOptions
from envs.plan_path.program import Program, run_program
from envs.plan_path.state import PlanPathState, Proposal, Script
from envs.plan_path.team import is_tool, number_of
from envs.plan_path.walk import answer, as_words, walk

_BARE = PlanPathState(parse_rows([".#.", "...", "#.."]), goal=8, position=0)
_STRAIGHT = (3, 6, 7, 8)
"""Down and then right, which the second cell, a wall, ends; a search that knows no walls, in the
order of its moves, finds it too."""


def example_state(options: PlanPathOptions, role: str) -> PlanPathState:
    """The small grid, with what the tools before `role` proposed."""
    if options.roles != "team":
        return _BARE
    failed = number_of(role) - 1 if is_tool(role) else options.num_tools - 1
    proposals = [_proposal(options, _STRAIGHT)] * failed
    if not is_tool(role):
        proposals.append(_proposal(options, _shortest(_BARE)))
    return replace(_BARE, proposals=tuple(proposals))


def example_answer(options: PlanPathOptions, state: PlanPathState, role: str) -> str:
    """What solves it."""
    if not is_tool(role) or options.tool == "moves":
        return _listed(options, state, _shortest(state))
    if options.tool == "search":
        return _line(state, blind=False)
    return fenced(search_script(options, state))


def _proposal(options: PlanPathOptions, cells: tuple[Cell, ...]) -> Proposal:
    """Of the shortest path, or else of the straight one, in what the tools write."""
    blind = cells == _STRAIGHT
    if options.tool == "search":
        avoid = 0 if blind else _BARE.grid.walls
        program = Program(_BARE.position, _BARE.goal, avoid)
        found = run_program(program, _BARE.grid, _BARE.position, _BARE.goal)
        return Proposal(_line(_BARE, blind), found)
    words = as_words(_BARE.grid, _BARE.position, cells, options.action_language)
    cells_too = options.action_language == "cells"
    actions = cells if cells_too else tuple(DIRECTIONS.index(word) for word in words)
    tried = walk(_BARE.grid, _BARE.position, _BARE.goal, actions, options.action_language)
    if options.tool == "moves":
        return Proposal(_listed(options, _BARE, cells), tried)
    script = search_script(options, _BARE, blind=blind).strip()
    return Proposal(script, tried, Script(str(words), actions))


def _line(state: PlanPathState, blind: bool) -> str:
    names = state.grid.board.names
    avoid = [] if blind else ["avoid", *(names[cell] for cell in members(state.grid.walls))]
    return " ".join(["path", names[state.position], names[state.goal], *avoid])


def _listed(options: PlanPathOptions, state: PlanPathState, cells: tuple[Cell, ...]) -> str:
    words = as_words(state.grid, state.position, cells, options.action_language)
    return answer(words, compact=False)


def _shortest(state: PlanPathState) -> tuple[Cell, ...]:
    grid = state.grid
    path = shortest_path(grid.height, grid.width, grid.walls, state.position, state.goal)
    return path or ()
