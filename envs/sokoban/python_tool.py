"""Python programs that the tool writes: run in the sandbox, what they print is tried on a copy.

The program reads the grid's rows on standard input. A run that the sandbox could not make is no
answer at all: it has no walk.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from envs.programs import find_program
from envs.quoting import quotable
from envs.sandbox import Outcome, Result, Run, SandboxOptions, open_sandbox
from envs.sokoban.parser import parse_actions
from envs.sokoban.room import Level
from envs.sokoban.state import rows_of
from envs.sokoban.walk import Language, Walk, nothing, walk

_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
MAX_OUTPUT = 1_000
"""Characters of a program's output that the planner reads (the end)."""


class Tried(NamedTuple):
    """What came of one text."""

    program: str
    """Empty if there is none in it."""
    walk: Walk | None
    """None: the sandbox failed, nothing is known."""
    output: str
    """What the planner reads of what was printed, or of how the program failed."""


def try_programs(
    options: SandboxOptions, language: Language, texts: Sequence[tuple[str, Level]]
) -> list[Tried]:
    """The programs in these texts, run side by side."""
    programs = [find_program(text) for text, _ in texts]
    runs = [Run(program, "\n".join(rows_of(level)) + "\n")
            for program, (_, level) in zip(programs, texts, strict=True) if program]  # fmt: skip
    results = iter(open_sandbox(options).run_many(runs) if runs else [])
    return [
        Tried(program, *_judged(next(results), level, language))
        if program
        else Tried("", nothing(level), "")
        for program, (_, level) in zip(programs, texts, strict=True)
    ]


def _judged(result: Result, level: Level, language: Language) -> tuple[Walk | None, str]:
    if result.outcome is Outcome.SANDBOX_ERROR:
        return None, ""
    if result.outcome is not Outcome.OK:
        return nothing(level), _shown(f"({result.outcome.value})\n{result.stderr}")
    actions = parse_actions(result.stdout, level.room, language, None)
    tried = walk(level, actions, language) if actions else nothing(level)
    return tried, _shown(result.stdout) or "(nothing)"


def _shown(text: str) -> str:
    """The end, without the addresses of objects, which differ from run to run."""
    return quotable(_ADDRESS.sub("0x", text[-2 * MAX_OUTPUT :]), MAX_OUTPUT)
