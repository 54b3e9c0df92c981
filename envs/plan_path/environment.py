"""Plan-Path as an environment: tasks, observations, and what a role's text does to the state.

Rules, options and rewards are in README.md. Turns are counted elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from envs.base import (
    JSON,
    Attempt,
    Message,
    Order,
    Rewards,
    Split,
    Status,
    StepResult,
    Task,
)
from envs.options import check_choice, parse_options
from envs.plan_path import demonstrations, parser, prompts, scripts
from envs.plan_path.grid import Cell, Distances, board, distances
from envs.plan_path.instances import draw, parse_payload
from envs.plan_path.options import PlanPathOptions
from envs.plan_path.picture import picture
from envs.plan_path.program import run_program
from envs.plan_path.rewards import acting_rewards, presets, tool_rewards
from envs.plan_path.state import PlanPathState, Proposal, Script, decode, encode
from envs.plan_path.team import is_tool, propose, proposes, roles_of
from envs.plan_path.walk import NOWHERE, Walk, Word, walk
from envs.programs import find_program
from envs.quoting import quotable
from envs.sandbox import Outcome, Result, Run, open_sandbox
from envs.splits import drawn

Judge = Callable[[str, Walk, Cell, Distances], Rewards]
"""(preset, walk, position before it, distances) -> what it earned."""


def make_plan_path(options: Mapping[str, JSON], reward: str) -> "PlanPath":
    """Build it from YAML options. ValueError names the option, the value and what is allowed."""
    checked = parse_options(PlanPathOptions, "plan_path", options)
    if checked.prompt_style == "compact":
        return CompactPlanPath(checked, reward)
    runs_programs = checked.tool == "program" and checked.roles != "planner"
    return (ProgramPlanPath if runs_programs else PlanPath)(checked, reward)


class PlanPath:
    """Walk from start to goal; tools propose, a planner decides."""

    name = "plan_path"
    version = "1"
    order = Order.SERIAL

    def __init__(self, options: PlanPathOptions, reward: str) -> None:
        self.options = options
        self.roles = roles_of(options)
        self.reward_presets = presets(self.roles)
        check_choice("env.reward", reward, self.reward_presets)
        self.reward = reward
        self._compact = options.prompt_style == "compact"
        self._board = board(options.height, options.width)
        self._words = parser.vocabulary(self._board, options.action_language, self._compact)

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """Tasks start .. start + count - 1: fewer across the stream's end, ValueError behind it."""

        def task(index: int) -> Task:
            payload = draw(self.options, split, seed, index).payload()
            return Task(f"{self.name}/{split.value}/{seed}/{index}", split, seed, payload)

        return drawn(task, start, count)

    def reset(self, task: Task) -> PlanPathState:
        """At the start. ValueError if the payload is not a legal instance of this size."""
        instance = parse_payload(task.payload)
        grid = instance.grid
        if (grid.height, grid.width) != (self.options.height, self.options.width):
            raise ValueError(
                f"task {task.task_id} has a {grid.height}x{grid.width} grid, expected "
                f"{self.options.height}x{self.options.width} as the options say"
            )
        return PlanPathState(grid, instance.goal, instance.start)

    def observe(self, state: PlanPathState, role: str) -> list[Message]:
        """A user message with all that the role may see, after a worked example if there is one."""
        self._check_role(role)
        return prompts.observe(self.options, state, role)

    def step(self, state: PlanPathState, role: str, completion: str) -> StepResult:
        """A tool's text is tried on a copy; the planner's, or a single agent's, is carried out.

        ValueError if the episode has ended or there is no such role; no text raises.
        """
        self._check_step(state, role)
        if proposes(self.options, role):
            return self._propose(state, role, completion)
        read = self._run_tool if is_tool(role) else self._walk
        return self._act(state, read(state, completion))

    def encode_state(self, state: PlanPathState) -> JSON:
        """As a JSON value."""
        return encode(state)

    def decode_state(self, encoded: JSON) -> PlanPathState:
        """The inverse of `encode_state`."""
        return decode(encoded)

    def demonstrate(self, state: PlanPathState, role: str, rng: Random) -> str:
        """An example answer, of the quality that the option `demonstrations` sets."""
        self._check_role(role)
        return demonstrations.demonstrate(self.options, state, role, rng)

    def picture(self, state: PlanPathState) -> str:
        """For people: the grid, where the agent stands, and the last walks."""
        return picture(state)

    def _propose(self, before: PlanPathState, role: str, text: str) -> StepResult:
        tried = self._run_tool(before, text)
        shown = "" if self._compact else quotable(text)
        after = propose(before, role, Proposal(shown, tried))
        return StepResult(after, self._judge(tool_rewards, before, tried), Status.RUNNING)

    def _run_tool(self, state: PlanPathState, text: str) -> Walk:
        if self.options.tool == "moves":
            return self._walk(state, text)
        if self._compact:
            limit = self.options.word_limit
            program = parser.parse_compact_program(text, self._board.cells, limit)
        else:
            program = parser.parse_answer_program(text, self._board.cells)
        if program is None:
            return NOWHERE
        return run_program(program, state.grid, state.position, state.goal)

    def _act(self, before: PlanPathState, taken: Walk) -> StepResult:
        status = Status.SOLVED if taken.word is Word.OK else Status.RUNNING
        after = PlanPathState(
            before.grid,
            before.goal,
            taken.end(before.position),
            (),
            None if self._compact else taken,
            status,
        )
        return StepResult(after, self._judge(acting_rewards, before, taken), status)

    def _walk(self, state: PlanPathState, text: str) -> Walk:
        if self._compact:
            actions = parser.parse_compact(text, self._words, self.options.word_limit)
        else:
            actions = parser.parse_actions(text, self._words)
        return self._walk_all(state, actions or ())

    def _walk_all(self, state: PlanPathState, actions: Sequence[int]) -> Walk:
        """NOWHERE if there are no actions."""
        if not actions:
            return NOWHERE
        return walk(state.grid, state.position, state.goal, actions, self.options.action_language)

    def _judge(self, rewards: Judge, state: PlanPathState, taken: Walk) -> Rewards:
        field = distances(state.grid, state.goal)
        return rewards(self.reward, taken, state.position, field)

    def _check_step(self, state: PlanPathState, role: str) -> None:
        self._check_role(role)
        if state.status is not Status.RUNNING:
            raise ValueError(f"plan_path: the episode is {state.status.value}, expected running")

    def _check_role(self, role: str) -> None:
        if role not in self.roles:
            raise ValueError(f"plan_path: role is {role!r}; expected one of {list(self.roles)}")


class CompactPlanPath(PlanPath):
    """The compact style, whose words are a closed set."""

    def lexicon(self) -> tuple[str, ...]:
        """Every word of prompts and demonstrated answers."""
        return prompts.lexicon(self.options)


class ProgramPlanPath(PlanPath):
    """The tools write Python programs. The programs of many texts run side by side."""

    def step(self, state: PlanPathState, role: str, completion: str) -> StepResult:
        """As in `PlanPath`; a program that the sandbox could not run is Status.ERROR."""
        return self.step_many([Attempt(state, role, completion)])[0]

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """What `step` returns for each, in order."""
        for state, role, _ in attempts:
            self._check_step(state, role)
        programs = [find_program(text) if is_tool(role) else None for _, role, text in attempts]
        runs = [
            Run(program, scripts.stdin(self.options, attempt.state))
            for attempt, program in zip(attempts, programs, strict=True)
            if program
        ]
        results = iter(open_sandbox(self.options.sandbox).run_many(runs) if runs else ())
        return [
            self._ran(attempt, program, next(results) if program else None)
            if is_tool(attempt.role)
            else self._act(attempt.state, self._walk(attempt.state, attempt.completion))
            for attempt, program in zip(attempts, programs, strict=True)
        ]

    def _ran(self, attempt: Attempt, program: str | None, result: Result | None) -> StepResult:
        """What the program printed, walked on a copy; or, of a single agent, carried out."""
        before, role = attempt.state, attempt.role
        if result and result.outcome is Outcome.SANDBOX_ERROR:
            return StepResult(before, self._unpaid(role), Status.ERROR)
        script = scripts.read(result, self._words) if result else Script("", ())
        tried = self._walk_all(before, script.actions)
        if not proposes(self.options, role):
            return self._act(before, tried)
        after = propose(before, role, Proposal(quotable(program or ""), tried, script))
        return StepResult(after, self._judge(tool_rewards, before, tried), Status.RUNNING)

    def _unpaid(self, role: str) -> Rewards:
        return Rewards(0.0, dict.fromkeys(self.reward_presets[self.reward].local[role], 0.0))
