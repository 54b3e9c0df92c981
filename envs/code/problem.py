"""One programming problem: the row of a problem file, for stdin programs and for functions.

A stdin test is the text to read and the text to print. A test of a function is JSON: the arguments
as an array (or, by name, an object), and the value to return.
"""

import json
import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from envs.problems import ProblemRow

Text = Annotated[str, Field(min_length=1)]


class TestCase(BaseModel):
    """An input and the output that is right for it."""

    __test__ = False  # not a test of ours
    model_config = ConfigDict(extra="forbid", frozen=True)

    input: str
    output: Text


class CodeProblem(ProblemRow):
    """A problem with public tests, which may be shown, and golden tests, which never are."""

    source: Text
    """The set and the problem's name in it: `apps/train/2361`."""
    question: Text
    """All that a role is told, with the examples that the statement gives."""
    entry_point: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")] | None = None
    """The function that tests call, at the top level or a method of `Solution`; None: the program
    reads stdin and writes stdout."""
    starter: str = ""
    """Code that the answer must continue or contain; may be empty."""
    public_tests: list[TestCase] = []
    golden_tests: Annotated[list[TestCase], Field(min_length=1)]
    solution: str | None = None
    """A program that passes all tests; scores the tester."""

    @model_validator(mode="after")
    def _tests_fit(self) -> "CodeProblem":
        seen: dict[str, str] = {}
        for field in ("public_tests", "golden_tests"):
            for number, test in enumerate(getattr(self, field)):
                where = f"field {field}.{number}"
                self._check(test, where)
                if test.input in seen:
                    raise ValueError(
                        f"{where}: the input of {seen[test.input]} again, expected each once"
                    )
                seen[test.input] = f"{field}.{number}"
        return self

    def content(self) -> str:
        """The question without its white space: other tests do not make it another problem."""
        return f"{self.entry_point}/{' '.join(self.question.split())}"

    def _check(self, test: TestCase, where: str) -> None:
        if self.entry_point is None:
            if not test.output.split():
                raise ValueError(f"{where}.output: got only white space, expected a text to print")
            return
        for name in ("input", "output"):
            try:
                value = json.loads(getattr(test, name))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{where}.{name}: not JSON ({error})") from error
            if name == "input" and not isinstance(value, (list, dict)):
                raise ValueError(f"{where}.input: got {value!r}, expected a JSON array or object")


def shown_call(problem: CodeProblem, text: str) -> str:
    """A test's input as a role reads it: the text for stdin, or `f(1, key='a')`."""
    if problem.entry_point is None:
        return text
    arguments = json.loads(text)
    if isinstance(arguments, dict):
        listed = [f"{name}={value!r}" for name, value in arguments.items()]
    else:
        listed = [repr(value) for value in arguments]
    return f"{problem.entry_point}({', '.join(listed)})"


def shown_value(problem: CodeProblem, text: str) -> str:
    """A test's output as a role reads it: the text for stdin, or the value as Python writes it."""
    return text if problem.entry_point is None else repr(json.loads(text))


def as_json(value: Any) -> str:
    """A Python value as a test writes it: tuples and sets are arrays.

    ValueError or TypeError for what has no such form.
    """
    return json.dumps(value, default=_plain)


def is_function_name(name: str) -> bool:
    """Whether tests can call it."""
    return re.fullmatch(r"[A-Za-z_]\w*", name) is not None


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    raise TypeError(f"{type(value).__name__} has no JSON form")
