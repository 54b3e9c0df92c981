"""The state of an episode and its JSON form."""

from dataclasses import dataclass

from envs.base import JSON, Status
from envs.sudoku.placing import Placed, Word


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the tool wrote this turn and what came of it."""

    text: str
    """As the planner may read it; empty in compact style, whose planner sees the result alone."""
    placed: Placed
    """Tried on a copy."""
    output: str = ""
    """What a Python program printed, or how it failed; empty for other tools."""


@dataclass(frozen=True, slots=True)
class SudokuState:
    """Everything that observations and rewards depend on; rewards solve the clues anew."""

    clues: str
    """The puzzle (see board.py for how a grid is written)."""
    grid: str
    """The clues and the team's own fills."""
    proposal: Proposal | None = None
    """None until the tool has acted in this turn."""
    last: Placed | None = None
    """What came of the turn before; None in the first."""
    status: Status = Status.RUNNING


def encode(state: SudokuState) -> JSON:
    """As a JSON value; fills are numbers, cell * size + digit - 1."""
    return {
        "clues": state.clues,
        "grid": state.grid,
        "proposal": state.proposal
        and {
            "text": state.proposal.text,
            "placed": _encode_placed(state.proposal.placed),
            "output": state.proposal.output,
        },
        "last": state.last and _encode_placed(state.last),
        "status": state.status.value,
    }


def decode(encoded: JSON) -> SudokuState:
    """The inverse of `encode`."""
    proposal, last = encoded["proposal"], encoded["last"]
    return SudokuState(
        encoded["clues"],
        encoded["grid"],
        proposal
        and Proposal(proposal["text"], _decode_placed(proposal["placed"]), proposal["output"]),
        last and _decode_placed(last),
        Status(encoded["status"]),
    )


def _encode_placed(placed: Placed) -> JSON:
    return {"fills": list(placed.fills), "word": placed.word.value, "refused": placed.refused}


def _decode_placed(encoded: JSON) -> Placed:
    return Placed(tuple(encoded["fills"]), Word(encoded["word"]), encoded["refused"])
