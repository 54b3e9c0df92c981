"""Sokoban as an environment: tasks, observations, and what a role's text does to the state.

Rules, options and rewards are in README.md. Turns are counted elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from envs.base import JSON, Attempt, Message, Order, Split, Status, StepResult, Task
from envs.options import check_choice, parse_options
from envs.quoting import quotable
from envs.sokoban import demonstrations, instances, level_sets, parser, prompts
from envs.sokoban.levels import parse_rows
from envs.sokoban.options import SokobanOptions, word_limit
from envs.sokoban.program import run_program
from envs.sokoban.rewards import acting_rewards, presets, tool_rewards, unjudged
from envs.sokoban.room import Level, remaining
from envs.sokoban.state import Proposal, SokobanState, decode, encode, rows_of
from envs.sokoban.walk import Walk, Word, nothing, walk

_ENDS = {Word.OK: Status.SOLVED, Word.STUCK: Status.FAILED}


def make_sokoban(options: Mapping[str, JSON], reward: str) -> "Sokoban":
    """Build it from YAML options. ValueError names the option, the value and what is allowed."""
    checked = parse_options(SokobanOptions, "sokoban", options)
    if checked.prompt_style == "compact":
        return CompactSokoban(checked, reward)
    programs = checked.tool == "program" and checked.roles != "planner"
    return (ProgramSokoban if programs else Sokoban)(checked, reward)


class Sokoban:
    """Push all boxes onto goals; a tool proposes, a planner decides."""

    name = "sokoban"
    version = "1"
    order = Order.SERIAL

    def __init__(self, options: SokobanOptions, reward: str) -> None:
        self.options = options
        self.roles = ("tool", "planner") if options.roles == "team" else (options.roles,)
        self.reward_presets = presets(self.roles)
        check_choice("env.reward", reward, self.reward_presets)
        self.reward = reward
        self._compact = options.prompt_style == "compact"
        self._set = level_sets.load(options) if options.levels is not None else None

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """Tasks start .. start + count - 1 of the stream.

        Validation and test of level files end: then there are fewer, and ValueError beyond.
        """
        stop = start + count
        if self._set is not None:
            stop = level_sets.last(self._set, split, start, stop)
        return [
            Task(
                f"{self.name}/{split.value}/{seed}/{index}",
                split,
                seed,
                {"rows": rows_of(self._level(split, seed, index))},
            )
            for index in range(start, stop)
        ]

    def reset(self, task: Task) -> SokobanState:
        """ValueError if the payload is not a legal level, or of another size than the options."""
        level = parse_rows(task.payload["rows"], task.task_id)
        size, expected = (level.room.height, level.room.width), self._size()
        if self._set is None and size != expected:
            raise ValueError(
                f"task {task.task_id} has a room of {size[0]}x{size[1]}, expected "
                f"{expected[0]}x{expected[1]} as the options say"
            )
        if remaining(level.room, level.boxes) < 0:
            raise ValueError(f"task {task.task_id} cannot be solved: a box can get to no goal")
        return SokobanState(level)

    def observe(self, state: SokobanState, role: str) -> list[Message]:
        """A user message with all that the role may see."""
        self._check_role(role)
        return prompts.observe(self.options, state, role)

    def step(self, state: SokobanState, role: str, completion: str) -> StepResult:
        """The tool's text is tried on a copy; the planner's, or a single agent's, is carried out.

        ValueError if the episode has ended or there is no such role; no text raises.
        """
        self._check_call(state, role)
        if role == "tool":
            return self._ran(state, completion, self._run_tool(state.level, completion))
        return self._act(state, self._walk(state.level, completion))

    def encode_state(self, state: SokobanState) -> JSON:
        """As a JSON value."""
        return encode(state)

    def decode_state(self, encoded: JSON) -> SokobanState:
        """The inverse of `encode_state`."""
        return decode(encoded)

    def demonstrate(self, state: SokobanState, role: str, rng: Random) -> str:
        """An example answer, of the quality that the option `demonstrations` sets."""
        self._check_role(role)
        return demonstrations.demonstrate(self.options, state, role, rng)

    def picture(self, state: SokobanState) -> str:
        """The room as text."""
        return "\n".join(rows_of(state.level))

    def _level(self, split: Split, seed: int, index: int) -> Level:
        if self._set is None:
            return instances.draw(self.options, split, seed, index)
        return level_sets.draw(self._set, split, seed, index)

    def _size(self) -> tuple[int, int]:
        """Rows and columns of the largest room."""
        if self._set is not None:
            return self._set.height, self._set.width
        return self.options.height, self.options.width

    def _ran(self, before: SokobanState, text: str, tried: Walk, output: str = "") -> StepResult:
        """What came of a tool's text: a proposal, or a single agent's action."""
        if self.options.roles == "tool":
            return self._act(before, tried)
        shown = "" if self._compact else quotable(text)
        after = replace(before, proposal=Proposal(shown, tried, output))
        return StepResult(after, tool_rewards(self.reward, before.level, tried), Status.RUNNING)

    def _run_tool(self, level: Level, text: str) -> Walk:
        if self.options.tool == "moves":
            return self._walk(level, text)
        program = parser.read_program(text, level.room, word_limit(self.options, level.room))
        if program is None:
            return nothing(level)
        return run_program(program, level, self.options.action_language)

    def _act(self, before: SokobanState, taken: Walk) -> StepResult:
        level = before.level
        status = _ENDS.get(taken.word, Status.RUNNING)
        now = Level(level.room, taken.boxes, taken.end(level.player))
        after = SokobanState(now, None, prompts.turn_of(self.options, level, taken), status)
        return StepResult(after, acting_rewards(self.reward, level, taken), status)

    def _walk(self, level: Level, text: str) -> Walk:
        language = self.options.action_language
        limit = word_limit(self.options, level.room)
        actions = parser.parse_actions(text, level.room, language, limit)
        return nothing(level) if actions is None else walk(level, actions, language)

    def _check_call(self, state: SokobanState, role: str) -> None:
        self._check_role(role)
        if state.status is not Status.RUNNING:
            raise ValueError(f"sokoban: the episode is {state.status.value}, expected running")

    def _check_role(self, role: str) -> None:
        if role not in self.roles:
            raise ValueError(f"sokoban: role is {role!r}; expected one of {list(self.roles)}")


class CompactSokoban(Sokoban):
    """Push all boxes onto goals, told in a closed set of words."""

    def lexicon(self) -> tuple[str, ...]:
        """Every word of prompts and demonstrated answers."""
        return prompts.lexicon(self.options, *self._size())


class ProgramSokoban(Sokoban):
    """Push all boxes onto goals; the tool writes Python that is run in the sandbox."""

    def step(self, state: SokobanState, role: str, completion: str) -> StepResult:
        """As `step_many` of one."""
        return self.step_many([Attempt(state, role, completion)])[0]

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """The programs of all attempts side by side, everything else one by one."""
        from envs.sokoban.python_tool import try_programs

        for state, role, _ in attempts:
            self._check_call(state, role)
        texts = [(text, state.level) for state, role, text in attempts if role == "tool"]
        tried = iter(try_programs(self.options.sandbox, self.options.action_language, texts))
        return [
            self._judged(state, *next(tried))
            if role == "tool"
            else self._act(state, self._walk(state.level, text))
            for state, role, text in attempts
        ]

    def _judged(
        self, before: SokobanState, program: str, tried: Walk | None, output: str
    ) -> StepResult:
        """A program that the sandbox could not run is nobody's answer."""
        if tried is None:
            none = unjudged(self.reward_presets[self.reward], "tool")
            return StepResult(before, none, Status.ERROR)
        return self._ran(before, program, tried, output)
