"""Golden solutions are tried before they are trusted: a problem is kept with the first of its
solutions that passes all of its tests. A problem that came without any is kept without one.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from envs.code.execution import input_run, passes
from envs.code.loaders.drafts import Draft, LeftOut
from envs.code.problem import CodeProblem, TestCase
from envs.sandbox import Outcome, Sandbox

MAX_SOLUTIONS = 4
"""Of a problem that are tried."""
_CHUNK = 32
"""Problems whose runs go to the sandbox together."""


def verified(found: Iterable[Draft | LeftOut], sandbox: Sandbox) -> Iterator[CodeProblem | LeftOut]:
    """In order. ValueError if the sandbox itself fails: nothing can be said then."""
    stream = iter(found)
    while chunk := list(islice(stream, _CHUNK)):
        drafts = [item for item in chunk if isinstance(item, Draft)]
        tried = iter(_try(drafts, sandbox))
        for item in chunk:
            yield item if isinstance(item, LeftOut) else next(tried)


def _try(drafts: Sequence[Draft], sandbox: Sandbox) -> list[CodeProblem | LeftOut]:
    chosen: dict[int, str] = {}
    for attempt in range(MAX_SOLUTIONS):
        open_ones = {
            number: draft.solutions[attempt]
            for number, draft in enumerate(drafts)
            if number not in chosen and attempt < len(draft.solutions)
        }
        chosen |= _passing(drafts, open_ones, sandbox)
    return [_judged(draft, chosen.get(number)) for number, draft in enumerate(drafts)]


def _passing(drafts: Sequence[Draft], programs: dict[int, str], sandbox: Sandbox) -> dict[int, str]:
    """Those of the programs that pass every test of their problem."""
    runs = [
        input_run(drafts[number].problem.entry_point, program, test.input)
        for number, program in programs.items()
        for test in _tests(drafts[number].problem)
    ]
    results = sandbox.run_many(runs)
    if any(result.outcome is Outcome.SANDBOX_ERROR for result in results):
        raise ValueError("the sandbox failed while solutions were tried; see its own message")
    passing, start = {}, 0
    for number, program in programs.items():
        problem = drafts[number].problem
        tests = _tests(problem)
        own = results[start : start + len(tests)]
        start += len(tests)
        if all(passes(problem, result, test) for result, test in zip(own, tests, strict=True)):
            passing[number] = program
    return passing


def _judged(draft: Draft, solution: str | None) -> CodeProblem | LeftOut:
    if draft.solutions and solution is None:
        tried = min(len(draft.solutions), MAX_SOLUTIONS)
        return LeftOut(draft.problem.source, f"none of {tried} solutions passes its tests")
    return draft.problem.model_copy(update={"solution": solution})


def _tests(problem: CodeProblem) -> list[TestCase]:
    return [*problem.public_tests, *problem.golden_tests]
