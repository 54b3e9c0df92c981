"""Plays an iteration's episodes again along the stored answers, and generates what is asked for.

Every phase: the prompts are made again from the states, the wanted answers are generated from
their seeds and compared, and the stored answers are executed. So a differing token does not hide
what comes after it, and one branch costs one generation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from components.engine import Engine, Sampling
from components.env_execution.boards import Board, advance_boards, board_prompts
from components.env_execution.selection import place
from components.records import Scored, Turn
from components.replay.branch import Branch
from components.replay.difference import Compared, compare_answers, compare_judgements
from components.rollout.play import answer

Key = tuple[str, str, int, str]
"""Episode, node, turn, role: one prompt."""


@dataclass(frozen=True)
class Wanted:
    """What is generated again."""

    episode: str
    branch: Branch | None
    """None: every answer of the episode."""
    whole_batch: bool
    """Whether prompts of other episodes of the phase are generated with it, as they were."""

    def asks(self, turn: Turn) -> bool:
        """Whether answers to this prompt are to be compared."""
        own = turn.episode_id == self.episode
        return own and (self.branch is None or self.branch.asks(turn))


class Walked(NamedTuple):
    """What was found."""

    answers: list[Compared]
    faults: list[str]
    """Prompts, rewards, picks and endings that are not as stored."""


def walk(
    engine: Engine,
    boards: Sequence[Board],
    stored: Sequence[Scored],
    wanted: Wanted,
    sampling: Sampling,
    say: Callable[[Compared], None],
) -> Walked:
    """Go through all phases of the boards; each comparison is told to `say` at once."""
    rows = _by_prompt(stored)
    found = Walked([], [])
    while turns := board_prompts(boards):
        fault = _prompt_fault(turns, rows, wanted)
        if fault:
            found.faults.append(fault)
            break
        _generate(engine, boards, turns, rows, wanted, sampling, found, say)
        then = [row.candidate for turn in turns for row in rows[_key(turn)].values()]
        judged, boards = advance_boards(boards, then)
        own = [row for row in judged if row.candidate.turn.episode_id == wanted.episode]
        before = (rows[_key(row.candidate.turn)][row.candidate.candidate] for row in own)
        notes = [compare_judgements(a, b) for a, b in zip(before, own, strict=True)]
        found.faults.extend(note for note in notes if note)
    return found


def only(boards: Sequence[Board], episode: str) -> list[Board]:
    """The boards with this episode alone."""
    return [
        replace(
            board,
            frontier=replace(
                board.frontier,
                nodes=tuple(n for n in board.frontier.nodes if n.episode_id == episode),
            ),
        )
        for board in boards
    ]


def _generate(
    engine: Engine,
    boards: Sequence[Board],
    turns: Sequence[Turn],
    rows: Mapping[Key, Mapping[int, Scored]],
    wanted: Wanted,
    sampling: Sampling,
    found: Walked,
    say: Callable[[Compared], None],
) -> None:
    """Answers to the wanted prompts of one phase, compared."""
    if not any(wanted.asks(turn) for turn in turns):
        return
    asked = list(turns) if wanted.whole_batch else [turn for turn in turns if wanted.asks(turn)]
    for now in answer(engine, asked, boards[0].rules, sampling):
        if not wanted.asks(now.turn) or (wanted.branch and not wanted.branch.holds(now)):
            continue
        compared = compare_answers(rows[_key(now.turn)][now.candidate].candidate, now)
        found.answers.append(compared)
        say(compared)


def _prompt_fault(
    turns: Sequence[Turn], rows: Mapping[Key, Mapping[int, Scored]], wanted: Wanted
) -> str | None:
    """Where the environment asks something else than it did; then nothing can be compared."""
    for turn in turns:
        then = rows.get(_key(turn))
        if then is None:
            return f"{place(turn)}: is asked now, was not asked then"
        first = next(iter(then.values())).candidate.turn
        if first != turn:
            what = "prompt" if first.messages != turn.messages else "policy"
            return f"{place(turn)}: another {what} than then; has the environment changed?"
    return None


def _by_prompt(stored: Sequence[Scored]) -> dict[Key, dict[int, Scored]]:
    rows: dict[Key, dict[int, Scored]] = {}
    for row in stored:
        rows.setdefault(_key(row.candidate.turn), {})[row.candidate.candidate] = row
    return rows


def _key(turn: Turn) -> Key:
    return turn.episode_id, turn.node, turn.turn, turn.role
