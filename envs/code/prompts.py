"""What coder and tester read: the problem, how to answer, and what came of the turn before.

Built from the question, the starter code and the last turn; golden tests are not even passed in.
"""

from envs.base import Message
from envs.code.problem import CodeProblem
from envs.code.state import Last, Mismatch

_TEAM = {
    "coder": "You are the coder of a team of two. You write a Python program that solves the "
    "problem below. At the same time a tester, who cannot see your program, writes tests for it.",
    "tester": "You are the tester of a team of two. At the same time as a coder writes a Python "
    "program for the problem below, you write tests for it, without seeing the program.",
}
_ALONE = "You write a Python program that solves the problem below."
_PROGRAM = """\
Think briefly, then give the whole program in one block:
```python
...
```"""
_TESTS = """\
Write up to {limit} tests, each with {what}. Work out every output by hand: a wrong one blames a \
right program. Cover ordinary and unusual inputs that the problem allows. Write each test as two \
blocks:
```input
{given}
```
```output
{expected}
```"""


def observe(
    problem: CodeProblem, last: Last | None, role: str, team: bool, max_tests: int
) -> list[Message]:
    """The prompt of `role`: one user message."""
    parts = [
        _TEAM[role] if team else _ALONE,
        f"# Problem\n{problem.question.strip()}",
        _interface(problem),
    ]
    if last is not None:
        parts.append(_turn_before(last, team))
    parts.append(_PROGRAM if role == "coder" else _ask_for_tests(problem, max_tests))
    return [{"role": "user", "content": "\n\n".join(part for part in parts if part)}]


def _interface(problem: CodeProblem) -> str:
    if problem.entry_point is None:
        rules = (
            "The program reads its input from standard input and prints its answer, nothing else. "
            "It must run to its end: leaving early, as with exit(), counts as an error."
        )
    else:
        rules = (
            f"The program defines `{problem.entry_point}`; tests call it and compare what it "
            "returns."
        )
    starter = problem.starter.strip("\n")
    return f"{rules} It begins with this code:\n```python\n{starter}\n```" if starter else rules


def _ask_for_tests(problem: CodeProblem, limit: int) -> str:
    if problem.entry_point is None:
        return _TESTS.format(
            limit=limit,
            what="all that the program reads, and what it must print",
            given="(the lines that the program reads)",
            expected="(what it must print)",
        )
    return _TESTS.format(
        limit=limit,
        what="a call and the value that it must return, written as Python literals",
        given=f"{problem.entry_point}(...)",
        expected="(the value)",
    )


def _turn_before(last: Last, team: bool) -> str:
    title = "# The turn before"
    if last.program is None:
        return f"{title}\nThe coder's answer held no program." if team else (
            f"{title}\nYour answer held no program.")  # fmt: skip
    author = "The coder" if team else "You"
    parts = [f"{title}\n{author} wrote:\n```python\n{last.program}\n```", _outcome(last, team)]
    parts += [_mismatch(number, item, team) for number, item in enumerate(last.mismatches, 1)]
    return "\n\n".join(parts)


def _outcome(last: Last, team: bool) -> str:
    if not last.num_tests:
        return "The tester's answer held no tests that could be read."
    if not team:
        return f"It fails {last.num_failed} of the {last.num_tests} public tests."
    return (
        f"It disagrees with {last.num_failed} of the tester's {last.num_tests} tests. Where they "
        "disagree, the program or the test is wrong."
    )


def _mismatch(number: int, item: Mismatch, team: bool) -> str:
    by = "Expected by the tester" if team else "Expected"
    return (
        f"Mismatch {number}, input:\n```\n{item.input}\n```\n{by}:\n```\n{item.expected}\n```\n"
        f"The program gives:\n```\n{item.got}\n```"
    )
