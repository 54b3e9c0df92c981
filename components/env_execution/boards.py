"""Episodes of several environments side by side: a board each, one batch of prompts for all.

Every board goes through its own turns and phases; a run with one environment has one board.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from components.env_execution.advance import advance
from components.env_execution.frontier import (
    Frontier,
    decode,
    encode,
    num_phases,
    prompts,
    start,
)
from components.env_execution.rules import Rules, rules_in
from components.env_execution.scoring import Report
from components.env_execution.selection import where
from components.errors import RecordError, RolewiseError
from components.members import Member
from components.records import Candidate, Episode, Scored, Turn
from envs.base import Environment, Task


@dataclass(frozen=True)
class Board:
    """All episodes of one environment."""

    env: Environment
    rules: Rules
    frontier: Frontier


class Step(NamedTuple):
    """What one phase on all boards made."""

    scored: list[Scored]
    """Board by board."""
    boards: list[Board]


def deal(
    members: Sequence[Member],
    tasks: Mapping[str, Sequence[Task]],
    rules: Rules,
    benchmark: str = "train",
) -> list[Board]:
    """A board for each environment; without tasks there is nothing to play on it."""
    boards = []
    for member in members:
        own = rules_in(rules, member)
        frontier = start(member.env, tasks[member.name], own, benchmark)
        boards.append(Board(member.env, own, frontier))
    return boards


def board_prompts(boards: Sequence[Board]) -> list[Turn]:
    """The next prompts of all boards, board by board; none when all is over."""
    return [turn for board in boards for turn in prompts(board.env, board.frontier, board.rules)]


def advance_boards(
    boards: Sequence[Board], candidates: Sequence[Candidate], report: Report | None = None
) -> Step:
    """`advance` on each with its own candidates. RolewiseError for one of no board."""
    own: dict[str, list[Candidate]] = {board.env.name: [] for board in boards}
    for item in candidates:
        if item.turn.env not in own:
            raise RolewiseError(f"{where(item)}: no environment {item.turn.env!r} is played here")
        own[item.turn.env].append(item)
    steps = [
        advance(board.env, board.frontier, own[board.env.name], board.rules, report)
        for board in boards
    ]
    scored = [row for step in steps for row in step.scored]
    after = [
        replace(board, frontier=step.frontier) for board, step in zip(boards, steps, strict=True)
    ]
    return Step(scored, after)


def ended(boards: Sequence[Board]) -> list[Episode]:
    """All episodes that are over, board by board."""
    return [episode for board in boards for episode in board.frontier.ended]


def num_steps(members: Sequence[Member]) -> int:
    """Batches of prompts until the longest episode is over."""
    return max(member.num_turns * num_phases(member.env) for member in members)


def encode_boards(boards: Sequence[Board]) -> str:
    """A line of JSON for each; `decode_boards` is its inverse."""
    return "\n".join(encode(board.env, board.frontier) for board in boards)


def decode_boards(
    members: Sequence[Member], text: str, rules: Rules, source: str = "frontier"
) -> list[Board]:
    """Read what `encode_boards` wrote. RecordError if it is of other environments."""
    lines = text.split("\n")
    if len(lines) != len(members):
        raise RecordError(
            f"{source}: {len(lines)} frontiers, expected one for each of "
            f"{[member.name for member in members]}; play the iteration again from its first turn"
        )
    return [
        Board(member.env, rules_in(rules, member), decode(member.env, line, source))
        for member, line in zip(members, lines, strict=True)
    ]
