"""Code as an environment: tasks, observations, and what a role's text comes to in the sandbox.

Rules, options and rewards are in README.md. Turns are counted elsewhere. Nothing is started
before the first step that has something to run.
"""

from collections.abc import Mapping, Sequence
from random import Random

from envs.base import JSON, Attempt, Message, Order, Split, Status, StepResult, Task
from envs.code import demonstrations, prompts
from envs.code.judging import Plan, plan_coder, plan_tester
from envs.code.options import CodeOptions
from envs.code.picture import picture
from envs.code.problem_sets import open_problems
from envs.code.rewards import no_rewards, presets
from envs.code.state import CodeState, decode, encode
from envs.options import check_choice, parse_options
from envs.sandbox import Outcome, Result, open_sandbox


def make_code(options: Mapping[str, JSON], reward: str) -> "Code":
    """Build it from YAML options and read its problems. ValueError names what is wrong where."""
    return Code(parse_options(CodeOptions, "code", options), reward)


class Code:
    """A coder writes a program, a tester writes tests; both from the state at the turn's start."""

    name = "code"
    version = "1"
    order = Order.PARALLEL

    def __init__(self, options: CodeOptions, reward: str) -> None:
        self.options = options
        self.roles = ("coder", "tester") if options.roles == "team" else ("coder",)
        self.reward_presets = presets(self.roles)
        check_choice("env.reward", reward, self.reward_presets)
        self.reward = reward
        self.problems = open_problems(options.problems, options.sha256)

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """Tasks start .. start + count - 1 of the stream; fewer at the end of a held-out split."""
        rows = self.problems.draw(split, seed, start, count)
        return [
            Task(f"{self.name}/{split.value}/{seed}/{index}", split, seed, {"problem": row.key})
            for index, row in enumerate(rows, start)
        ]

    def reset(self, task: Task) -> CodeState:
        """The first turn. ValueError if the problem is not in the file."""
        return CodeState(self.problems.find(task.payload["problem"]).key)

    def observe(self, state: CodeState, role: str) -> list[Message]:
        """One user message: the problem, the turn before, how to answer."""
        self._check_role(role)
        problem = self.problems.find(state.problem)
        team = self.options.roles == "team"
        return prompts.observe(problem, state.last, role, team, self.options.max_tests)

    def step(self, state: CodeState, role: str, completion: str) -> StepResult:
        """As `step_many` for one text."""
        return self.step_many([Attempt(state, role, completion)])[0]

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """Judge all texts; their programs run side by side, equal runs once.

        ValueError if an episode has ended or there is no such role; no text raises. Where the
        sandbox itself failed the status is `error`.
        """
        plans = [self._plan(attempt) for attempt in attempts]
        runs = list(dict.fromkeys(run for plan in plans for run in plan.runs))
        results: dict[object, Result] = {}
        if runs:
            results = dict(
                zip(runs, open_sandbox(self.options.sandbox).run_many(runs), strict=True)
            )
        return [
            self._finish(attempt, plan, [results[run] for run in plan.runs])
            for attempt, plan in zip(attempts, plans, strict=True)
        ]

    def encode_state(self, state: CodeState) -> JSON:
        """As a JSON value."""
        return encode(state)

    def decode_state(self, encoded: JSON) -> CodeState:
        """The inverse of `encode_state`."""
        return decode(encoded)

    def demonstrate(self, state: CodeState, role: str, rng: Random) -> str:
        """An example answer, of the quality that the option `demonstrations` sets."""
        self._check_role(role)
        problem = self.problems.find(state.problem)
        return demonstrations.demonstrate(self.options, problem, role, rng)

    def picture(self, state: CodeState) -> str:
        """The problem's beginning and what came of the turn before."""
        return picture(self.problems.find(state.problem), state)

    def _plan(self, attempt: Attempt) -> Plan:
        state, role, text = attempt
        self._check_role(role)
        if state.status is not Status.RUNNING:
            raise ValueError(f"code: the episode is {state.status.value}, expected running")
        problem = self.problems.find(state.problem)
        plan = plan_coder if role == "coder" else plan_tester
        return plan(self.options, self.reward, problem, state, text)

    def _finish(self, attempt: Attempt, plan: Plan, results: Sequence[Result]) -> StepResult:
        if any(result.outcome is Outcome.SANDBOX_ERROR for result in results):
            nothing = no_rewards(self.reward_presets[self.reward], attempt.role)
            return StepResult(attempt.state, nothing, Status.ERROR)
        return plan.finish(results)

    def _check_role(self, role: str) -> None:
        if role not in self.roles:
            raise ValueError(f"code: role is {role!r}; expected one of {list(self.roles)}")
