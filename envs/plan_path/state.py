"""The state of an episode and its JSON form."""

from dataclasses import dataclass

from envs.base import JSON, Status
from envs.plan_path.grid import Cell, Grid, parse_rows
from envs.plan_path.walk import Walk, Word


@dataclass(frozen=True, slots=True)
class Script:
    """A Python program that was run."""

    printed: str
    """The end of its output, or how it failed, as the planner may read it."""
    actions: tuple[int, ...]
    """What its last line was read as; empty if it was no list of actions."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a tool wrote this turn and what came of it."""

    text: str
    """As the planner may read it; empty in compact style, whose planner sees the result alone."""
    walk: Walk
    script: Script | None = None
    """What came of a Python program; None for the other tools."""


@dataclass(frozen=True, slots=True)
class PlanPathState:
    """Everything that observations and rewards depend on."""

    grid: Grid
    goal: Cell
    position: Cell
    proposals: tuple[Proposal, ...] = ()
    """Of the tools that have acted in this turn, in their order."""
    last: Walk | None = None
    """The walk of the turn before; None in the first, and in compact style."""
    status: Status = Status.RUNNING


def encode(state: PlanPathState) -> JSON:
    """As a JSON value; cells are numbers, row * width + column.

    `proposal` is the first tool's; those of the others are in `further`, where there are others.
    """
    encoded = {
        "rows": state.grid.rows(),
        "goal": state.goal,
        "position": state.position,
        "proposal": _encode_proposal(state.proposals[0]) if state.proposals else None,
        "last": state.last and _encode_walk(state.last),
        "status": state.status.value,
    }
    further = [_encode_proposal(proposal) for proposal in state.proposals[1:]]
    return {**encoded, "further": further} if further else encoded


def decode(encoded: JSON) -> PlanPathState:
    """The inverse of `encode`."""
    first, last = encoded["proposal"], encoded["last"]
    proposals = [first, *encoded.get("further", ())] if first else []
    return PlanPathState(
        parse_rows(encoded["rows"]),
        encoded["goal"],
        encoded["position"],
        tuple(_decode_proposal(proposal) for proposal in proposals),
        last and _decode_walk(last),
        Status(encoded["status"]),
    )


def _encode_proposal(proposal: Proposal) -> JSON:
    encoded = {"text": proposal.text, "walk": _encode_walk(proposal.walk)}
    if proposal.script:
        script = {"printed": proposal.script.printed, "actions": list(proposal.script.actions)}
        encoded["script"] = script
    return encoded


def _decode_proposal(encoded: JSON) -> Proposal:
    script = encoded.get("script")
    return Proposal(
        encoded["text"],
        _decode_walk(encoded["walk"]),
        script and Script(script["printed"], tuple(script["actions"])),
    )


def _encode_walk(walk: Walk) -> JSON:
    return {"cells": list(walk.cells), "num_actions": walk.num_actions, "word": walk.word.value}


def _decode_walk(encoded: JSON) -> Walk:
    return Walk(tuple(encoded["cells"]), encoded["num_actions"], Word(encoded["word"]))
