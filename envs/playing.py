"""One episode on the terminal: a person plays some roles, demonstrations the others.

It follows the turn loop's rules for who sees what, and judges nothing itself: what a text is worth
is the environment's outcome.
"""

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from random import Random

from envs.base import (
    Demonstrates,
    Environment,
    Order,
    Pictures,
    Rewards,
    State,
    Status,
    Task,
)

HELP = """\
One line is an answer. A line with ``` begins an answer of several lines up to the closing ```, such
as a program; a line with a single dot begins one that ends with another such line.
/prompt shows what the role reads, /picture where the episode stands, /demo an example answer,
/quit leaves. Any other text is judged as it is."""
COMMANDS = ("/prompt", "/picture", "/demo", "/help", "/quit")
Ask = Callable[[str], str]
"""Shows a text, reads a line; EOFError at the end of the input."""


class Left(Exception):
    """The person has gone."""


@dataclass(frozen=True)
class Table:
    """Who plays which role, and what is shown."""

    env: Environment
    people: Collection[str]
    """Roles that a person plays; empty: everything is demonstrated."""
    prompts: bool
    """Show what a role reads; False: the picture."""
    rng: Random
    """Of the demonstrations."""
    ask: Ask = input
    shown: list[str] = field(default_factory=list)
    """The last picture."""


def play(table: Table, task: Task, num_turns: int) -> Status:
    """Play the task on the terminal; the status in which it was left.

    ValueError if a role that nobody plays has no example answers.
    """
    print(f"task {task.task_id}")
    if table.people:
        print(f"you play {_names(table.people)}; /help says how to answer")
    state = table.env.reset(task)
    turn = 0
    try:
        for turn in range(num_turns):
            state, status = _play_turn(table, state, turn)
            if status is not Status.RUNNING:
                _show_end(table, state, f"{status.value} in turn {turn}")
                return status
    except (Left, EOFError, KeyboardInterrupt):
        print(f"\nleft in turn {turn}: the episode was not over")
        return Status.RUNNING
    _show_end(table, state, f"{Status.OUT_OF_TURNS.value} after {num_turns} turns")
    return Status.OUT_OF_TURNS


def _play_turn(table: Table, state: State, turn: int) -> tuple[State, Status]:
    """In parallel order all roles write from the start of the turn, and are judged in order.

    A person hears what the others' texts earned after answering, as a model would: rewards are
    part of no prompt.
    """
    roles, parallel = table.env.roles, table.env.order is Order.PARALLEL
    texts = {role: _write(table, state, role, turn) for role in roles} if parallel else {}
    kept: list[str] = []
    status = Status.RUNNING
    for role in roles:
        text = texts[role] if parallel else _write(table, state, role, turn)
        if parallel or role not in table.people:
            print(f"--- {role} writes\n{printable(text)}")
        result = table.env.step(state, role, text)
        whose = f"{role}: " if table.people and role not in table.people else ""
        kept.append(f"--- {whose}{_told(result.rewards)}")
        status = result.status
        state = state if status is Status.ERROR else result.state
        if role in table.people or not table.people or status is not Status.RUNNING:
            kept = _tell(kept)
        if status is Status.ERROR:
            print("--- this answer could not be judged; training would leave it out")
        if status is not Status.RUNNING:
            return state, status
    _tell(kept)
    return state, status


def _tell(lines: list[str]) -> list[str]:
    """Print them; none is left."""
    print("".join(f"{line}\n" for line in lines), end="")
    return []


def _write(table: Table, state: State, role: str, turn: int) -> str:
    by_person = role in table.people
    if table.prompts or by_person and not isinstance(table.env, Pictures):
        print(f"\n--- turn {turn}, {role} reads\n{_prompt(table.env, state, role)}")
    else:
        print(f"\n--- turn {turn}, {role}")
        _show(table, state, by_person or not table.people)
    return _typed(table, state, role) if by_person else _demonstrated(table, state, role)


def _demonstrated(table: Table, state: State, role: str) -> str:
    if not isinstance(table.env, Demonstrates):
        raise ValueError(
            f"{table.env.name} has no example answers for {role}; play every role: --role all"
        )
    return table.env.demonstrate(state, role, table.rng)


def _typed(table: Table, state: State, role: str) -> str:
    """A person's answer; commands are carried out on the way."""
    while True:
        text = _read_answer(table.ask, role)
        if text == "/quit":
            raise Left
        if text not in COMMANDS:
            return text
        print(_obey(table, state, role, text))


def _obey(table: Table, state: State, role: str, command: str) -> str:
    if command == "/demo":
        known = isinstance(table.env, Demonstrates)
        return printable(_demonstrated(table, state, role)) if known else "(no example answers)"
    if command == "/prompt":
        return _prompt(table.env, state, role)
    return HELP if command == "/help" else _picture(table.env, state)


def _read_answer(ask: Ask, role: str) -> str:
    """One line, a fenced block, or the lines between two dots."""
    first = ask(f"{role}> ")
    if first.strip() == ".":
        return "\n".join(_lines_until(ask, "."))
    if first.lstrip().startswith("```"):
        return "\n".join([first, *_lines_until(ask, "```"), "```"])
    return first


def _lines_until(ask: Ask, end: str) -> list[str]:
    lines: list[str] = []
    while (line := ask("... ")).strip() != end:
        lines.append(line)
    return lines


def _prompt(env: Environment, state: State, role: str) -> str:
    return "\n".join(printable(message["content"]) for message in env.observe(state, role))


def _picture(env: Environment, state: State) -> str:
    return printable(env.picture(state)) if isinstance(env, Pictures) else "(no picture)"


def _show_end(table: Table, state: State, sentence: str) -> None:
    if not table.prompts and isinstance(table.env, Pictures):
        _show(table, state, True, "\n")
    print(f"\n{sentence}")


def _show(table: Table, state: State, wanted: bool, before: str = "") -> None:
    """The picture, unless it is the one that was shown last."""
    picture = _picture(table.env, state)
    if wanted and picture not in table.shown:
        table.shown[:] = [picture]
        print(before + picture)


def _told(rewards: Rewards) -> str:
    parts = ", ".join(f"{part} {value:+.3f}" for part, value in rewards.local.items())
    return f"team {rewards.team:+.3f}; {parts or 'no local parts'}"


def _names(roles: Collection[str]) -> str:
    return ", ".join(roles)


def printable(text: str) -> str:
    """What the terminal's encoding can show; other characters become question marks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
