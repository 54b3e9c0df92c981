"""The tester's text as tests. Tolerant about what stands around them, strict about what they say.

A test is a fenced block of its input and then one of its output. The block's language says which
it is (```input, ```output), or else the last word of the line before it (`Input:`, `**Test
output**`); other blocks and all other text are ignored. Blocks that do not alternate make the
whole answer malformed, but an input at the end whose output was cut off is dropped.

For a function the input is a call such as `add(1, [2, 3])`, or only what stands between its
brackets, and the output is a Python (or JSON) literal. Nothing is evaluated.
"""

import ast
import re

from envs.code.problem import CodeProblem, TestCase, as_json

MAX_CHARACTERS = 40_000
"""Of a text; the end is read."""
MAX_BLOCK = 10_000
"""Characters of an input or an output."""
_LABEL = re.compile(r"\b(input|output)\W*$", re.IGNORECASE)
_PLAIN = ("", "text", "txt", "plaintext", "python", "json")
"""Languages of a block that the line before it may label."""
_JSON_NAMES = {"true": True, "false": False, "null": None}


def find_tests(problem: CodeProblem, text: str, limit: int) -> tuple[TestCase, ...]:
    """At most `limit` tests with different inputs, the first ones; none if it is malformed.

    Inputs on stdin that differ in white space alone are the same."""
    answer = text[-MAX_CHARACTERS:].rpartition("</think>")[2]
    blocks = _blocks(answer.encode("utf-8", "replace").decode())
    if [label for label, _ in blocks] != ["input", "output"] * (len(blocks) // 2):
        return ()
    bodies = [body for _, body in blocks]
    tests: dict[str, TestCase] = {}
    for given, expected in zip(bodies[::2], bodies[1::2], strict=True):
        test = _test(problem, given, expected)
        if test is None:
            return ()
        tests.setdefault(_key(problem, test), test)
    return tuple(tests.values())[:limit]


def _blocks(text: str) -> list[tuple[str, str]]:
    """(label, body) of the labelled blocks, without a last input that has no output."""
    found: list[tuple[str, str]] = []
    label, body, before = "", [""], ""
    inside = False
    for line in text.split("\n"):
        mark = line.strip()
        if inside and mark == "```":
            inside = False
            if label:
                found.append((label, "".join(f"{part}\n" for part in body)))
        elif inside:
            body.append(line)
        elif mark.startswith("```"):
            label, body, inside = _label(mark[3:].strip().lower(), before), [], True
        before = line if mark else before
    if found and found[-1][0] == "input":
        found.pop()
    return found


def _label(language: str, before: str) -> str:
    if language in ("input", "output"):
        return language
    named = _LABEL.search(before[-80:])
    return named[1].lower() if named and language in _PLAIN else ""


def _test(problem: CodeProblem, given: str, expected: str) -> TestCase | None:
    if max(len(given), len(expected)) > MAX_BLOCK or not expected.split():
        return None
    if problem.entry_point is None:
        return TestCase(input=given, output=expected.strip())
    try:
        arguments = _arguments(problem.entry_point, given.strip())
        output = _literal(ast.parse(expected.strip(), mode="eval").body)
        return TestCase(input=as_json(arguments), output=as_json(output))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _key(problem: CodeProblem, test: TestCase) -> str:
    """What makes a test another one: white space that a program would skip does not."""
    return test.input if problem.entry_point else " ".join(test.input.split())


def _arguments(entry: str, text: str) -> list[object] | dict[str, object]:
    if not re.match(rf"(?:\w+\.)?{entry}\s*\(", text):
        text = f"{entry}({text})"
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call):
        raise ValueError("no call")
    named = {keyword.arg: _literal(keyword.value) for keyword in call.keywords}
    if None in named or (call.args and named):
        raise ValueError("two stars, or both kinds of arguments")
    if named:
        return {str(name): value for name, value in named.items()}
    return [_literal(value) for value in call.args]


def _literal(node: ast.expr) -> object:
    """A literal's value; true, false and null mean what they do in JSON."""
    return ast.literal_eval(_JsonNames().visit(node))


class _JsonNames(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The constant that the name stands for, if it does."""
        return ast.Constant(_JSON_NAMES[node.id]) if node.id in _JSON_NAMES else node
