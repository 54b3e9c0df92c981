"""Which runs an answer needs, and the step that their results make.

A plan is made without running anything, so that the runs of many answers go to the sandbox
together. No expected output is part of a run.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from envs.base import Rewards, Status, StepResult
from envs.code import rewards
from envs.code.execution import answer, build_run, input_run, passes
from envs.code.options import CodeOptions
from envs.code.parser import find_tests
from envs.code.problem import CodeProblem, TestCase, shown_call, shown_value
from envs.code.rewards import NUM_SMOKE, ProgramVerdict, TestsVerdict
from envs.code.state import CodeState, Last, Mismatch
from envs.programs import find_program
from envs.quoting import quotable
from envs.sandbox import Outcome, Result, Run
from envs.splits import permute

Results = Sequence[Result]
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_WENT_WRONG = {
    Outcome.RUNTIME_ERROR: "error",
    Outcome.TIMEOUT: "out of time",
    Outcome.MEMORY: "out of memory",
    Outcome.OUTPUT_LIMIT: "too much output",
}


@dataclass(frozen=True)
class Plan:
    """Runs, and what to make of their results (in the same order)."""

    runs: tuple[Run, ...]
    finish: Callable[[Results], StepResult]


def plan_coder(
    options: CodeOptions, reward: str, problem: CodeProblem, state: CodeState, text: str
) -> Plan:
    """Build, golden tests, and for a single agent the public tests, after which the turn ends."""
    program = find_program(text)
    golden = golden_tests(problem, options.max_golden_tests)
    alone = options.roles == "coder"
    public = tuple(problem.public_tests) if alone else ()
    runs = _runs(problem, program, (*golden, *public))
    if program is not None:
        runs = (build_run(program), *runs)

    def finish(results: Results) -> StepResult:
        verdict = ProgramVerdict(num_golden=len(golden))
        if program is not None:
            verdict = _program_verdict(problem, golden, results)
        earned = rewards.coder_rewards(reward, verdict)
        after = replace(
            state, program=program, num_golden=len(golden), num_passed=verdict.num_passed
        )
        if not alone:
            return StepResult(after, earned, Status.RUNNING)
        last = _last(options, problem, after, public, results[1 + len(golden) :])
        return _end_of_turn(after, last, program is not None, earned)

    return Plan(runs, finish)


def plan_tester(
    options: CodeOptions, reward: str, problem: CodeProblem, state: CodeState, text: str
) -> Plan:
    """The tests on the golden solution and on the coder's program; then the turn ends."""
    tests = find_tests(problem, text, options.max_tests)
    by_solution = _runs(problem, problem.solution, tests)
    runs = (*by_solution, *_runs(problem, state.program, tests))

    def finish(results: Results) -> StepResult:
        mine, theirs = results[: len(by_solution)], results[len(by_solution) :]
        verdict = _tests_verdict(problem, tests, mine)
        program = ProgramVerdict(num_passed=state.num_passed, num_golden=state.num_golden or 1)
        earned = rewards.tester_rewards(reward, verdict, program)
        last = _last(options, problem, state, tests, theirs)
        return _end_of_turn(state, last, bool(tests), earned)

    return Plan(runs, finish)


def golden_tests(problem: CodeProblem, limit: int | None) -> tuple[TestCase, ...]:
    """The golden tests that judge: the first three, and of the rest a fixed choice by digest."""
    tests = tuple(problem.golden_tests)
    if limit is None or len(tests) <= limit:
        return tests
    first, others = tests[: min(NUM_SMOKE, limit)], tests[NUM_SMOKE:]
    order = (permute(place, len(others), problem.key) for place in range(limit - len(first)))
    return (*first, *(others[index] for index in sorted(order)))


def _runs(problem: CodeProblem, program: str | None, tests: Sequence[TestCase]) -> tuple[Run, ...]:
    return () if program is None else tuple(
        input_run(problem.entry_point, program, test.input) for test in tests
    )  # fmt: skip


def _program_verdict(
    problem: CodeProblem, golden: Sequence[TestCase], results: Results
) -> ProgramVerdict:
    build, on_golden = results[0], results[1 : 1 + len(golden)]
    return ProgramVerdict(
        builds=build.outcome is Outcome.OK,
        smoke=all(
            answer(problem.entry_point, result) is not None for result in on_golden[:NUM_SMOKE]
        ),
        num_passed=sum(
            passes(problem, result, test) for result, test in zip(on_golden, golden, strict=True)
        ),
        num_golden=len(golden),
    )


def _tests_verdict(
    problem: CodeProblem, tests: Sequence[TestCase], results: Results
) -> TestsVerdict:
    """By the golden solution's results; there are none without one, and then nothing is right."""
    right = [passes(problem, result, test) for result, test in zip(results, tests, strict=False)]
    valid = bool(results) and all(
        answer(problem.entry_point, result) is not None for result in results
    )
    return TestsVerdict(valid, sum(right), len(tests))


def _last(
    options: CodeOptions,
    problem: CodeProblem,
    state: CodeState,
    tests: Sequence[TestCase],
    results: Results,
) -> Last:
    """What the next turn's prompts say; without a program every test has failed."""
    limit = options.max_shown_characters
    failed = [
        (test, result)
        for test, result in zip(tests, results, strict=False)
        if not passes(problem, result, test)
    ]
    return Last(
        None if state.program is None else _beginning(state.program, 10 * limit),
        len(tests),
        len(failed) if results else len(tests),
        tuple(
            Mismatch(
                _beginning(shown_call(problem, test.input), limit),
                _beginning(shown_value(problem, test.output), limit),
                _beginning(_got(problem, result), limit),
            )
            for test, result in failed[: options.max_shown]
        ),
    )


def _end_of_turn(state: CodeState, last: Last, answered: bool, earned: Rewards) -> StepResult:
    """The episode ends where no test that the team knows has failed; golden tests say how.

    `answered`: there is a program and, in a team, there are tests.
    """
    status = Status.RUNNING
    if answered and state.program is not None and not last.num_failed:
        solved = state.num_golden and state.num_passed == state.num_golden
        status = Status.SOLVED if solved else Status.FAILED
    return StepResult(CodeState(state.problem, last=last, status=status), earned, status)


def _got(problem: CodeProblem, result: Result) -> str:
    """The program's output as a role reads it, or what went wrong, in square brackets."""
    found = answer(problem.entry_point, result)
    if found is not None:
        try:
            return _ADDRESS.sub("0x...", shown_value(problem, found))
        except (ValueError, RecursionError):
            return "[a value that cannot be shown]"
    if result.outcome is Outcome.OK:
        return "[nothing]"
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    reason = _WENT_WRONG.get(result.outcome, result.outcome.value)
    detail = f": {lines[-1].strip()}" if lines and result.outcome is Outcome.RUNTIME_ERROR else ""
    return f"[{reason}{_ADDRESS.sub('0x...', detail)}]"


def _beginning(text: str, limit: int) -> str:
    """Safe to stand in a prompt, and inside its fence."""
    cut = quotable(text[:limit]).replace("```", "` ` `")
    return cut if len(text) <= limit else f"{cut} ..."
