"""Example answers for the warm start: of mixed, mostly poor quality, as the options say.

Made from the golden solution and the public tests; a golden test is never in one.
"""

import ast
from random import Random

from envs.code.options import CodeOptions
from envs.code.problem import CodeProblem, TestCase, shown_call, shown_value

_NUM_TESTS = 2


def demonstrate(options: CodeOptions, problem: CodeProblem, role: str, rng: Random) -> str:
    """An example text of `role`, well-formed but seldom good."""
    shares, kind = options.demonstrations, rng.random()
    quality = "right" if kind < shares.right else "broken"
    if kind >= shares.right + shares.broken:
        quality = "empty"
    if role == "tester":
        return _tests(problem, quality, rng)
    return f"```python\n{_program(problem, quality, rng).strip()}\n```"


def _program(problem: CodeProblem, quality: str, rng: Random) -> str:
    if quality == "empty" or problem.solution is None:
        return _stub(problem)
    return problem.solution if quality == "right" else broken(problem.solution, rng)


def broken(program: str, rng: Random) -> str:
    """The program with one operator, comparison or number changed; unparsed, without comments."""
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError):
        return program.replace("+", "-", 1)
    places = [node for node in ast.walk(tree) if _can_break(node)]
    if not places:
        return "\n".join(program.splitlines()[:-1])
    _break(rng.choice(places))
    return ast.unparse(tree)


def _can_break(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return isinstance(node, (ast.BinOp, ast.Compare))


def _break(node: ast.AST) -> None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value = node.value + 1
    elif isinstance(node, ast.BinOp):
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif isinstance(node, ast.Compare):
        node.ops[0] = ast.NotEq() if isinstance(node.ops[0], ast.Eq) else ast.Eq()


def _stub(problem: CodeProblem) -> str:
    if problem.entry_point is None:
        return "print(0)"
    return f"def {problem.entry_point}(*arguments, **named):\n    return None"


def _tests(problem: CodeProblem, quality: str, rng: Random) -> str:
    tests = list(problem.public_tests)
    chosen = rng.sample(tests, min(_NUM_TESTS, len(tests)))
    if quality == "empty" or not chosen:
        made_up = ("1\n", "1") if problem.entry_point is None else ("[1]", "1")
        return _written(problem, [TestCase(input=made_up[0], output=made_up[1])])
    if quality == "broken":
        wrong = "0" if problem.entry_point is None else "null"
        chosen[-1] = TestCase(input=chosen[-1].input, output=wrong)
    return _written(problem, chosen)


def _written(problem: CodeProblem, tests: list[TestCase]) -> str:
    blocks = []
    for test in tests:
        given, expected = shown_call(problem, test.input), shown_value(problem, test.output)
        blocks.append(f"```input\n{given.strip()}\n```\n```output\n{expected.strip()}\n```")
    return "\n\n".join(blocks)
