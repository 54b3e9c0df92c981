"""A record of a data set on its way to a problem: cleaned, but its solutions are still untried."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from envs.base import Split
from envs.code.problem import CodeProblem, TestCase, is_function_name

MAX_INPUT, MAX_OUTPUT = 200_000, 50_000
"""Characters; tests with more are left out."""


@dataclass(frozen=True)
class Draft:
    """A problem whose `solution` is to be the first of `solutions` that passes its tests."""

    problem: CodeProblem
    solutions: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A record that makes no problem."""

    source: str
    reason: str


def make_draft(
    source: str,
    question: str,
    *,
    public: Iterable[tuple[Any, Any]] = (),
    golden: Iterable[tuple[Any, Any]],
    max_tests: int,
    entry_point: str | None = None,
    starter: str = "",
    solutions: Sequence[str] = (),
    split: Split | None = None,
) -> Draft | LeftOut:
    """Tests that are empty, oversized or given before (public ones come first) are dropped."""
    if entry_point is not None and not is_function_name(entry_point):
        return LeftOut(source, f"the function's name is {entry_point!r}")
    seen: set[str] = set()
    try:
        problem = CodeProblem(
            source=source,
            question=_text(question),
            entry_point=entry_point,
            starter=_text(starter),
            public_tests=_tests(public, entry_point, seen, max_tests),
            golden_tests=_tests(golden, entry_point, seen, max_tests),
            split=split,
        )
    except (ValidationError, RecursionError) as error:
        faults = error.errors() if isinstance(error, ValidationError) else []
        fields = {".".join(map(str, fault["loc"])): fault["msg"] for fault in faults}
        return LeftOut(source, f"{fields or error}")
    return Draft(problem, tuple(_text(text) for text in solutions if text.strip()))


def parsed(text: str, what: str) -> Any:
    """The JSON value. ValueError that says `what` it should have been."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{what} is not JSON ({error})") from error


def _tests(
    pairs: Iterable[tuple[Any, Any]], entry: str | None, seen: set[str], limit: int
) -> list[TestCase]:
    tests: list[TestCase] = []
    for given, expected in pairs:
        if len(tests) == limit:
            break
        texts = (given, expected) if entry is None else (json.dumps(given), json.dumps(expected))
        given, expected = (_text(text) for text in texts)
        if given not in seen and expected.split() and _fits(given, expected):
            seen.add(given)
            tests.append(TestCase(input=given, output=expected))
    return tests


def _fits(given: str, expected: str) -> bool:
    return len(given) <= MAX_INPUT and len(expected) <= MAX_OUTPUT


def _text(text: str) -> str:
    """As valid Unicode."""
    return text.encode("utf-8", "replace").decode()
