"""The state of an episode and its JSON form."""

from dataclasses import dataclass
from typing import NamedTuple

from envs.base import JSON, Status
from envs.sokoban.board import Cell, CellSet, members
from envs.sokoban.levels import parse_position, to_rows
from envs.sokoban.room import Level
from envs.sokoban.walk import Walk, Word


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the tool wrote this turn and what came of it."""

    text: str
    """As the planner may read it; empty in compact style, whose planner sees the result alone."""
    walk: Walk
    output: str = ""
    """What the program printed, or how it failed; empty where there is no program."""


class Turn(NamedTuple):
    """What the planner did in the turn before."""

    words: str
    """The actions that were possible; empty in compact style."""
    word: Word
    """How it ended."""


@dataclass(frozen=True, slots=True)
class SokobanState:
    """Everything that observations and rewards depend on."""

    level: Level
    """The room with boxes and player as they stand now."""
    proposal: Proposal | None = None
    """None until the tool has acted in this turn."""
    last: Turn | None = None
    """None in the first turn."""
    status: Status = Status.RUNNING


def rows_of(level: Level, floor: str = " ") -> list[str]:
    """One string per row from the top."""
    return to_rows(level.room, level.boxes, level.player, floor)


def encode(state: SokobanState) -> JSON:
    """As a JSON value; cells are numbers, row * width + column."""
    proposal = state.proposal
    return {
        "rows": rows_of(state.level),
        "proposal": proposal
        and {"text": proposal.text, "walk": _encode(proposal.walk), "output": proposal.output},
        "last": state.last and list(state.last),
        "status": state.status.value,
    }


def decode(encoded: JSON) -> SokobanState:
    """The inverse of `encode`."""
    proposal, last = encoded["proposal"], encoded["last"]
    return SokobanState(
        parse_position(encoded["rows"]),
        proposal and Proposal(proposal["text"], _decode(proposal["walk"]), proposal["output"]),
        last and Turn(last[0], Word(last[1])),
        Status(encoded["status"]),
    )


def _encode(walk: Walk) -> JSON:
    return {
        "cells": list(walk.cells),
        "boxes": list(members(walk.boxes)),
        "num_pushes": walk.num_pushes,
        "word": walk.word.value,
    }


def _decode(encoded: JSON) -> Walk:
    boxes: CellSet = sum(1 << cell for cell in encoded["boxes"])
    cells: tuple[Cell, ...] = tuple(encoded["cells"])
    return Walk(cells, boxes, encoded["num_pushes"], Word(encoded["word"]))
