"""The state of an episode and its JSON form."""

from dataclasses import dataclass

from envs.base import JSON, Status
from envs.plan_path.grid import Cell, Grid, parse_rows
from envs.plan_path.walk import Walk, Word


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the tool wrote this turn and what came of it."""

    text: str
    """As the planner may read it; empty in compact style, whose planner sees the result alone."""
    walk: Walk


@dataclass(frozen=True, slots=True)
class PlanPathState:
    """Everything that observations and rewards depend on."""

    grid: Grid
    goal: Cell
    position: Cell
    proposal: Proposal | None = None
    """None until the tool has acted in this turn."""
    last: Walk | None = None
    """The walk of the turn before; None in the first, and in compact style."""
    status: Status = Status.RUNNING


def encode(state: PlanPathState) -> JSON:
    """As a JSON value; cells are numbers, row * width + column."""
    return {
        "rows": state.grid.rows(),
        "goal": state.goal,
        "position": state.position,
        "proposal": state.proposal
        and {"text": state.proposal.text, "walk": _encode_walk(state.proposal.walk)},
        "last": state.last and _encode_walk(state.last),
        "status": state.status.value,
    }


def decode(encoded: JSON) -> PlanPathState:
    """The inverse of `encode`."""
    proposal, last = encoded["proposal"], encoded["last"]
    return PlanPathState(
        parse_rows(encoded["rows"]),
        encoded["goal"],
        encoded["position"],
        proposal and Proposal(proposal["text"], _decode_walk(proposal["walk"])),
        last and _decode_walk(last),
        Status(encoded["status"]),
    )


def _encode_walk(walk: Walk) -> JSON:
    return {"cells": list(walk.cells), "num_actions": walk.num_actions, "word": walk.word.value}


def _decode_walk(encoded: JSON) -> Walk:
    return Walk(tuple(encoded["cells"]), encoded["num_actions"], Word(encoded["word"]))
