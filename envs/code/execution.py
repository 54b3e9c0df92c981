"""What is run in the sandbox, and what its output says. Nothing is judged inside.

A function is called by a few lines around the program, which print the value as JSON after a mark.
The program could print such a line itself: it would only state its answer another way, since the
expected value is compared outside and never enters the sandbox.
"""

import json
import math
from typing import Any

from envs.code.problem import CodeProblem, TestCase
from envs.sandbox import Outcome, Result, Run, judged

MARK = "=== value ==="
_NAMES = "bisect collections functools heapq itertools math typing"
"""Modules whose public names a function's program finds already imported, as on LeetCode."""
_BUILD = """\
compile({program!r}, "solution.py", "exec")
"""
_CALL = """\
import json, sys, types
arguments = json.loads(sys.stdin.read())
module = types.ModuleType("solution")
sys.modules["solution"] = module
for name in {names!r}.split():
    exec(f"from {{name}} import *", module.__dict__)
exec(compile({program!r}, "solution.py", "exec"), module.__dict__)
call = getattr(module, {entry!r}, None)
if call is None:
    call = getattr(module.Solution(), {entry!r})
value = call(**arguments) if isinstance(arguments, dict) else call(*arguments)
def plain(value):
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return value.tolist() if hasattr(value, "tolist") else repr(value)
sys.stdout.write("\\n" + {mark!r} + json.dumps(value, default=plain) + "\\n")
"""


def build_run(program: str) -> Run:
    """Ends well if the program compiles; the program itself does not run."""
    return Run(_BUILD.format(program=program))


def input_run(entry: str | None, program: str, test_input: str) -> Run:
    """The program on one test's input: it reads it (entry None), or `entry` is called with it."""
    if entry is None:
        return Run(program, test_input)
    call = _CALL.format(program=program, entry=entry, mark=MARK, names=_NAMES)
    return Run(call, test_input)


def answer(entry: str | None, result: Result) -> str | None:
    """What the program printed or returned (as JSON); None if it did not end well with one."""
    if result.outcome is not Outcome.OK:
        return None
    if entry is None:
        return result.stdout if result.stdout.split() else None
    _, mark, text = result.stdout.rpartition(f"\n{MARK}")
    return text.strip() if mark else None


def passes(problem: CodeProblem, result: Result, test: TestCase) -> bool:
    """Whether the run gave the test's output: token by token, or as a value."""
    if problem.entry_point is None:
        return judged(result, test.output) is Outcome.OK
    found = answer(problem.entry_point, result)
    return found is not None and same_values(found, test.output)


def same_values(one: str, other: str) -> bool:
    """Equality of two JSON texts: exact, but 1e-9 relative or 1e-6 absolute where a float is."""
    try:
        return _same(json.loads(one), json.loads(other))
    except (ValueError, RecursionError, OverflowError):
        return False


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    if isinstance(one, float) or isinstance(other, float):
        return _close(one, other)
    return bool(one == other)


def _close(one: Any, other: Any) -> bool:
    if not all(isinstance(value, (int, float)) for value in (one, other)):
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
