"""Sudoku as an environment: tasks, observations, and what a role's text does to the state.

Rules, options and rewards are in README.md. Turns are counted elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from envs.base import JSON, Attempt, Message, Order, Rewards, Split, Status, StepResult, Task
from envs.options import check_choice, parse_options
from envs.quoting import quotable
from envs.splits import drawn
from envs.sudoku import demonstrations, parser, prompts
from envs.sudoku.board import BLANK, Fill, board, rows_of
from envs.sudoku.instances import check_unique, draw, parse_payload
from envs.sudoku.options import SudokuOptions
from envs.sudoku.placing import Placed, Word, place
from envs.sudoku.program import run_search
from envs.sudoku.programs import Printed, run_programs
from envs.sudoku.puzzle_file import read_puzzles
from envs.sudoku.rewards import (
    planner_rewards,
    presets,
    progress_of,
    right_share_of,
    tool_rewards,
)
from envs.sudoku.state import Proposal, SudokuState, decode, encode

Judge = Callable[[str, Placed, float, float], Rewards]
"""(preset, what was placed, progress, share of right fills) -> what it earned."""


def make_sudoku(options: Mapping[str, JSON], reward: str) -> "Sudoku":
    """Build it from YAML options. ValueError names the option, the value and what is allowed, or
    the file, row and field of a puzzle that cannot be used."""
    checked = parse_options(SudokuOptions, "sudoku", options)
    env = _kind(checked)(checked, reward)
    if checked.puzzles is not None:
        read_puzzles(checked)
    return env


def _kind(options: SudokuOptions) -> type["Sudoku"]:
    if options.tool == "program" and options.roles == "team":
        return ProgrammedSudoku
    return CompactSudoku if options.prompt_style == "compact" else Sudoku


class Sudoku:
    """Fill a grid; a tool proposes, a planner decides."""

    name = "sudoku"
    version = "1"
    order = Order.SERIAL

    def __init__(self, options: SudokuOptions, reward: str) -> None:
        self.options = options
        self.roles = ("tool", "planner") if options.roles == "team" else ("planner",)
        self.reward_presets = presets(self.roles)
        check_choice("env.reward", reward, self.reward_presets)
        self.reward = reward
        self._compact = options.prompt_style == "compact"
        self._board = board(options.size)

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """Tasks start .. start + count - 1: fewer across the stream's end, ValueError behind it."""

        def task(index: int) -> Task:
            payload = {"rows": rows_of(draw(self.options, split, seed, index))}
            return Task(f"{self.name}/{split.value}/{seed}/{index}", split, seed, payload)

        return drawn(task, start, count)

    def reset(self, task: Task) -> SudokuState:
        """The clues alone. ValueError if the payload is no puzzle of this size with exactly one
        solution."""
        try:
            clues = parse_payload(task.payload, self.options.size)
        except ValueError as error:
            raise ValueError(f"sudoku task {task.task_id}: {error}") from error
        return SudokuState(clues, clues)

    def observe(self, state: SudokuState, role: str) -> list[Message]:
        """One user message with all that the role may see."""
        self._check_role(role)
        return prompts.observe(self.options, state, role)

    def step(self, state: SudokuState, role: str, completion: str) -> StepResult:
        """The tool's text is tried on a copy; the planner's is executed.

        ValueError if the episode has ended or there is no such role; no text raises.
        """
        self._check_turn(state, role)
        if role == "tool":
            return self._propose(state, self._run_tool(state, completion), completion)
        return self._act(state, self._read(completion))

    def encode_state(self, state: SudokuState) -> JSON:
        """As a JSON value."""
        return encode(state)

    def decode_state(self, encoded: JSON) -> SudokuState:
        """The inverse of `encode_state`."""
        return decode(encoded)

    def demonstrate(self, state: SudokuState, role: str, rng: Random) -> str:
        """An example answer, of the quality that the option `demonstrations` sets."""
        self._check_role(role)
        return demonstrations.demonstrate(self.options, state, role, rng)

    def picture(self, state: SudokuState) -> str:
        """The grid, and how much of it is filled in."""
        num_blanks, left = state.clues.count(BLANK), state.grid.count(BLANK)
        counts = (
            f"{len(state.clues) - num_blanks} clues, {num_blanks - left} filled in, {left} left"
        )
        return f"{prompts.draw_grid(state.grid)}\n{counts}, {state.status.value}"

    def _propose(
        self, before: SudokuState, fills: list[Fill] | None, text: str, output: str = ""
    ) -> StepResult:
        tried, grid = place(before.clues, before.grid, fills)
        shown = "" if self._compact else quotable(text)
        after = replace(before, proposal=Proposal(shown, tried, output))
        return StepResult(after, self._judge(tool_rewards, before, tried, grid), Status.RUNNING)

    def _act(self, before: SudokuState, fills: list[Fill] | None) -> StepResult:
        placed, grid = place(before.clues, before.grid, fills)
        status = Status.SOLVED if placed.word is Word.OK else Status.RUNNING
        after = SudokuState(before.clues, grid, None, placed, status)
        return StepResult(after, self._judge(planner_rewards, before, placed, grid), status)

    def _run_tool(self, state: SudokuState, text: str) -> list[Fill] | None:
        if self.options.tool == "moves":
            return self._read(text)
        if self._compact:
            listed = parser.parse_compact_program(text, self._board, self.options.word_limit)
        else:
            listed = parser.parse_answer_program(text, self._board)
        return listed and run_search(listed, state.clues, self._board.size)

    def _read(self, text: str) -> list[Fill] | None:
        """The fills that a text says, None if it is malformed."""
        if self._compact:
            return parser.parse_compact(text, self._board, self.options.word_limit)
        read = parser.parse_fills if self.options.answer == "fills" else parser.parse_grid
        return read(text, self._board)

    def _judge(self, rewards: Judge, before: SudokuState, placed: Placed, grid: str) -> Rewards:
        solution = check_unique(before.clues)
        progress = progress_of(before.clues, solution, before.grid, grid)
        share = right_share_of(placed, solution, self._board.size)
        return rewards(self.reward, placed, progress, share)

    def _check_turn(self, state: SudokuState, role: str) -> None:
        self._check_role(role)
        if state.status is not Status.RUNNING:
            raise ValueError(f"sudoku: the episode is {state.status.value}, expected running")

    def _check_role(self, role: str) -> None:
        if role not in self.roles:
            raise ValueError(f"sudoku: role is {role!r}; expected one of {list(self.roles)}")


class CompactSudoku(Sudoku):
    """The compact style, whose words are a closed set."""

    def lexicon(self) -> tuple[str, ...]:
        """Every word of prompts and demonstrated answers."""
        return prompts.lexicon(self.options.size)


class ProgrammedSudoku(Sudoku):
    """The tool's Python programs run in the sandbox, those of many attempts side by side."""

    def step(self, state: SudokuState, role: str, completion: str) -> StepResult:
        """As in `Sudoku`; the status is ERROR if the sandbox failed, which judges no program."""
        return self.step_many([Attempt(state, role, completion)])[0]

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """What `step` returns for each, in order."""
        for state, role, _ in attempts:
            self._check_turn(state, role)
        texts = [attempt for attempt in attempts if attempt.role == "tool"]
        printed = iter(run_programs(texts, self._board, self.options.sandbox))
        return [
            self._try_printed(attempt, next(printed))
            if attempt.role == "tool"
            else super(ProgrammedSudoku, self).step(*attempt)
            for attempt in attempts
        ]

    def _try_printed(self, attempt: Attempt, printed: Printed | None) -> StepResult:
        if printed is not None:
            return self._propose(attempt.state, printed.fills, attempt.completion, printed.output)
        parts = dict.fromkeys(self.reward_presets[self.reward].local["tool"], 0.0)
        return StepResult(attempt.state, Rewards(0.0, parts), Status.ERROR)
