"""What counts as a test, and that nothing is evaluated."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.code.parser import find_tests
from tests.envs.code.made import add, double, written

STDIN, CALL = double(), add()


def found(problem, text, limit=4):
    return [(test.input, test.output) for test in find_tests(problem, text, limit)]


def test_blocks_by_their_language():
    assert found(STDIN, written(("3", "6"), ("4\n5", "8"))) == [("3\n", "6"), ("4\n5\n", "8")]


@pytest.mark.parametrize("label", ["Input:", "**Test input:**", "### Input", "1. input"])
def test_blocks_by_the_line_before(label):
    text = f"{label}\n```\n3\n```\n\n{label.lower().replace('input', 'output')}\n\n```text\n6\n```"
    assert found(STDIN, text) == [("3\n", "6")]


def test_other_blocks_are_ignored():
    text = "```python\nprint(1)\n```\n" + written(("3", "6")) + "\n```\nresult\n```"
    assert found(STDIN, text) == [("3\n", "6")]


def test_thoughts_do_not_count():
    assert found(STDIN, f"{written(('1', '1'))}</think>{written(('3', '6'))}") == [("3\n", "6")]


def test_the_first_ones_count_and_each_input_once():
    text = written(("1", "2"), ("1", "3"), ("2", "4"), ("3", "6"))
    assert found(STDIN, text, 2) == [("1\n", "2"), ("2\n", "4")]


def test_white_space_makes_no_new_test_on_stdin():
    text = written(("1 2", "2"), ("1  2", "2"), (" 1\n2", "2"), ("12", "24"))
    assert [given for given, _ in found(STDIN, text)] == ["1 2\n", "12\n"]
    calls = written(("'a b'", "1"), ("'a  b'", "1"), (" 'a b' ", "1"))
    assert [given for given, _ in found(CALL, calls)] == ['["a b"]', '["a  b"]']


def test_an_answer_that_was_cut_keeps_its_whole_tests():
    whole = written(("1", "2"), ("3", "6"))
    assert found(STDIN, whole[: whole.rindex("6")]) == [("1\n", "2")]
    assert found(STDIN, written(("1", "2")) + "\n```input\n3\n```\nand") == [("1\n", "2")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "input 3 output 6",
        "```output\n6\n```\n```input\n3\n```\n```output\n6\n```",
        "```input\n3\n```\n```input\n4\n```\n```output\n8\n```",
        "```input\n3\n```\n```output\n\n```",
        f"```input\n{'1' * 10_001}\n```\n```output\n1\n```",
        "```input\n3\n```output\n6\n```",
    ],
)
def test_malformed(text):
    assert found(STDIN, text) == []


@pytest.mark.parametrize(
    ("given", "expected", "test"),
    [
        ("add(1, 2)", "3", ("[1, 2]", "3")),
        ("solution.add(1, [2, (3,)])", "{'a': None}", ("[1, [2, [3]]]", '{"a": null}')),
        ("1, 'x'", "'1x'", ('[1, "x"]', '"1x"')),
        ("add(a=1, b=-2.5)", "[true, null]", ('{"a": 1, "b": -2.5}', "[true, null]")),
        ("add()", "{1, 2}", ("[]", "[1, 2]")),
        ("'\\ud800'", "1", ('["\\ud800"]', "1")),
    ],
)
def test_calls(given, expected, test):
    assert found(CALL, written((given, expected))) == [test]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("add(1, 2)", "add(1, 2)"),
        ("add(x)", "3"),
        ("add(*[1, 2])", "3"),
        ("add(**{'a': 1})", "3"),
        ("add(1, b=2)", "3"),
        ("add(1, 2) + 1", "3"),
        ("add(1, 2)", "3 if True else 4"),
        ("add(__import__('os').getpid(), 1)", "3"),
        ("add(1, 2)", "9 ** 99999999"),
        ("add(1, 2)", "b'3'"),
        ("add(1, 2)", "9" * 5000),
        ("add(1, 2)", "[" * 3000),
        ("add(1, 2)", "-" * 9000 + "1"),
        ("add(1, 2", "3"),
    ],
)
def test_fault_9_only_literals_are_read(given, expected):
    assert found(CALL, written((given, expected))) == []


@settings(max_examples=60, deadline=None)
@given(text=st.text() | st.lists(st.sampled_from(["```", "input", "output", "\n", "3", "add("])))
def test_no_text_raises(text):
    text = text if isinstance(text, str) else "".join(text)
    for problem in (STDIN, CALL):
        for test in find_tests(problem, text, 4):
            assert test.output.split()


@pytest.mark.parametrize("piece", ["```x\n", "```input\n", "input\n", "```\n", "input" + "!" * 99])
def test_reading_takes_linear_time(piece):
    began = time.process_time()
    find_tests(STDIN, piece * (40_000 // len(piece)), 4)
    assert time.process_time() - began < 1.0
