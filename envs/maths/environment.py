"""Maths as an environment: tasks, observations, and what a role's text does to the state.

Rules, options and rewards are in README.md. Turns are counted elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from random import Random
from typing import TYPE_CHECKING

from envs.base import JSON, Attempt, Message, Rewards, Split, Status, StepResult, Task
from envs.maths import demonstrations, problems, prompts
from envs.maths.grading import equal
from envs.maths.grading_algebra import GraderUnavailable
from envs.maths.judging import Judged, judge_texts
from envs.maths.options import MathsOptions
from envs.maths.pictures import picture
from envs.maths.rewards import presets, rewards
from envs.maths.state import MathsState, decode, encode, without_texts
from envs.maths.team import is_tool, order_of, roles_of, settled
from envs.options import check_choice, parse_options

if TYPE_CHECKING:
    from envs.sandbox import Sandbox


def make_maths(options: Mapping[str, JSON], reward: str) -> "Maths":
    """Build it from YAML options. ValueError names the option, the value and what is allowed."""
    return Maths(parse_options(MathsOptions, "maths", options), reward)


class Maths:
    """Reasoners think, tools compute, a judge may decide; equal answers end the episode."""

    name = "maths"
    version = "1"

    def __init__(self, options: MathsOptions, reward: str) -> None:
        self.options = options
        self.roles = roles_of(options)
        self.order = order_of(options)
        self.reward_presets = presets(self.roles)
        check_choice("env.reward", reward, self.reward_presets)
        self.reward = reward
        if find_spec("math_verify") is None:
            raise ValueError("maths needs the package math-verify==0.9.0; it is not installed")
        problems.check_source(options)

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """Tasks start .. start + count - 1 of the stream.

        Of a finite set, fewer where validation and test end; ValueError beyond.
        """
        return problems.draw_tasks(self.options, split, seed, start, count)

    def reset(self, task: Task) -> MathsState:
        """Nobody has answered. ValueError if the payload has no question or answer."""
        try:
            question, reference = task.payload["question"], task.payload["answer"]
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"task {task.task_id}: payload without question and answer, expected both"
            ) from error
        return MathsState(question, reference)

    def observe(self, state: MathsState, role: str) -> list[Message]:
        """One user message with all that the role may see."""
        self._check_role(role)
        return prompts.observe(self.options, state, role)

    def step(self, state: MathsState, role: str, completion: str) -> StepResult:
        """Read one text, or run its program. No text raises."""
        return self.step_many([Attempt(state, role, completion)])[0]

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """`step` of each; all programs run side by side.

        ValueError if an episode has ended or there is no such role.
        """
        for attempt in attempts:
            self._check_role(attempt.role)
            if attempt.state.status is not Status.RUNNING:
                ended = attempt.state.status.value
                raise ValueError(f"maths: the episode is {ended}, expected running")
        tools = any(is_tool(attempt.role) for attempt in attempts)
        judged = judge_texts(self.options, self._sandbox if tools else None, attempts)
        return [
            self._result(attempt.state, attempt.role, of_text)
            for attempt, of_text in zip(attempts, judged, strict=True)
        ]

    def encode_state(self, state: MathsState) -> JSON:
        """As a JSON value."""
        return encode(state)

    def decode_state(self, encoded: JSON) -> MathsState:
        """The inverse of `encode_state`."""
        return decode(encoded)

    def demonstrate(self, state: MathsState, role: str, rng: Random) -> str:
        """An example answer, of the quality that the option `demonstrations` sets."""
        self._check_role(role)
        return demonstrations.demonstrate(self.options, state, role, rng)

    def picture(self, state: MathsState) -> str:
        """The question and every answer so far."""
        return picture(state)

    @cached_property
    def _sandbox(self) -> "Sandbox":
        from envs.sandbox import open_sandbox

        return open_sandbox(self.options.sandbox)

    def _result(self, before: MathsState, role: str, judged: Judged | None) -> StepResult:
        """ERROR, without reward, if the sandbox or the grader could not judge the text."""
        try:
            if judged is not None:
                return self._judge(before, role, judged)
        except GraderUnavailable:
            pass
        parts = self.reward_presets[self.reward].local[role]
        return StepResult(before, Rewards(0.0, dict.fromkeys(parts, 0.0)), Status.ERROR)

    def _judge(self, before: MathsState, role: str, judged: Judged) -> StepResult:
        answer = judged.report.answer
        right = answer is not None and equal(answer, before.reference)
        turn = (*before.current, judged.report)
        if len(turn) < len(self.roles):
            after = replace(before, current=turn)
        else:
            after = self._close_turn(before, replace(before, current=turn))
        signs = {**judged.parts, "match": right}
        solved = after.status is Status.SOLVED
        return StepResult(after, rewards(self.reward, signs, solved), after.status)

    def _close_turn(self, before: MathsState, state: MathsState) -> MathsState:
        """All have answered: the episode ends if that settles it, else the next turn begins."""
        final = settled(self.options, before, state.current)
        status = Status.RUNNING
        if final is not None:
            status = Status.SOLVED if equal(final, before.reference) else Status.FAILED
        past = tuple(without_texts(turn) for turn in before.turns)
        return replace(state, turns=(*past, state.current), current=(), status=status)

    def _check_role(self, role: str) -> None:
        if role not in self.roles:
            raise ValueError(f"maths: role is {role!r}; expected one of {list(self.roles)}")
