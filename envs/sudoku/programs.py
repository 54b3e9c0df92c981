"""The tool's Python programs: run in the sandbox on the clues, and what they printed as fills.

A program is judged by nothing but its output; it sees no solution. How Python is confined is the
sandbox's matter.
"""

from collections.abc import Sequence
from typing import NamedTuple

from envs.base import Attempt
from envs.programs import find_program
from envs.quoting import quotable
from envs.sandbox import Outcome, Result, Run, SandboxOptions, open_sandbox
from envs.sudoku.board import BLANK, Board, Fill, rows_of
from envs.sudoku.parser import parse_fills, parse_grid

MAX_OUTPUT = 1_000
"""Characters of a program's output that the planner reads."""


class Printed(NamedTuple):
    """What a program came to."""

    fills: list[Fill] | None
    """None: no program, a failed one, or output that is no answer."""
    output: str
    """For the planner: what was printed, or how the program failed."""


def run_programs(
    attempts: Sequence[Attempt], plan: Board, options: SandboxOptions
) -> list[Printed | None]:
    """Of every text, in order; None where the sandbox itself failed."""
    programs = [find_program(attempt.completion) for attempt in attempts]
    runs = [
        Run(program, _stdin(attempt.state.clues))
        for program, attempt in zip(programs, attempts, strict=True)
        if program is not None
    ]
    results = iter(open_sandbox(options).run_many(runs) if runs else ())
    return [
        Printed(None, "") if program is None else _printed(next(results), plan)
        for program in programs
    ]


def _stdin(clues: str) -> str:
    """One row a line, 0 for a blank."""
    return "".join(f"{row}\n" for row in rows_of(clues.replace(BLANK, "0")))


def _printed(result: Result, plan: Board) -> Printed | None:
    """Fills if the output has an equals sign, else a grid; nothing if the program failed."""
    if result.outcome is Outcome.SANDBOX_ERROR:
        return None
    if result.outcome is not Outcome.OK:
        last = result.stderr.strip().rpartition("\n")[2]
        return Printed(None, quotable(f"{result.outcome.value} {last}", MAX_OUTPUT))
    read = parse_fills if "=" in result.stdout else parse_grid
    return Printed(read(result.stdout, plan), quotable(result.stdout, MAX_OUTPUT))
