r"""Where an answer is: the last box, the last printed line, and nothing else."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.maths.answers import boxed_answer, extract_boxed, is_value, printed_answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\boxed{5}", "5"),
        (r"First \boxed{4}, no: \boxed{5}.", "5"),
        (r"\boxed{5} and then some words about 6.", "5"),
        (r"\boxed{\frac{3}{4}}", r"\frac{3}{4}"),
        (r"\boxed{\boxed{5}}", "5"),
        (r"\boxed {5}", "5"),
        (r"\fbox{5}", None),
        (r"\boxed{5} is in my \boxed command", "5"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\text{a}b}", r"\text{a}b"),
        (r"$\boxed{x = 5}$", "x = 5"),
        ("\\boxed{\n5\n}", "5"),
        (r"\boxed{}", ""),
        (r"\boxed{5", None),
        (r"\boxed{5} so \boxed{6", None),
        (r"\boxed 5", None),
        (r"boxed{5}", None),
        ("The answer is 204.", None),
        ("", None),
        (r"<think>\boxed{4}</think>\boxed{5}", "5"),
        (r"<think>\boxed{4}</think> So it is 5.", None),
        (r"\boxed{1}</think>", None),
    ],
)
def test_the_last_closed_box_counts(text, expected):
    assert extract_boxed(text) == expected


@pytest.mark.parametrize("text", [
    r"\boxed{}", r"\boxed{ }", r"\boxed{?}", r"\boxed{nan}", r"\boxed{-inf}", r"\boxed{None}",
    r"\boxed{$}", r"\boxed{ValueError: 5}", rf"\boxed{{{'5' * 401}}}", "204", "Answer: 204",
])  # fmt: skip
def test_what_is_in_a_box_must_be_able_to_be_right(text):
    assert boxed_answer(text) is None


@pytest.mark.parametrize(
    ("stdout", "expected"),
    [
        ("204\n", "204"),
        ("trying\n203\n204\n\n", "204"),
        ("  204  ", "204"),
        (r"\boxed{204}", "204"),
        ("x = 204", "x = 204"),
        ("(1, 2)", "(1, 2)"),
        ("", None),
        ("\n\n", None),
        ("nan", None),
        ("inf", None),
        ("None", None),
        ("---", None),
        ("Traceback (most recent call last):", None),
        ("ValueError: invalid literal for int() with base 10: '204'", None),
        ("ZeroDivisionError: division by zero", None),
        ("204\nKeyError: 204", None),
    ],
)
def test_fault_10_a_traceback_is_never_a_programs_answer(stdout, expected):
    assert printed_answer(stdout) == expected


@pytest.mark.parametrize("text", [
    "\\boxed{" + "{" * 100_000, "\\boxed{" * 100_000, "\\boxed{" + "{}" * 50_000 + "}",
    "\\boxed{" + "\\" * 100_000, "}" * 100_000 + "\\boxed{5}",
])  # fmt: skip
def test_boxes_are_found_in_linear_time(text):
    began = time.process_time()
    extract_boxed(text)
    boxed_answer(text)
    assert time.process_time() - began < 0.5


@settings(deadline=None)
@given(before=st.text(), inside=st.text("abc 123+-=^_\\{}", max_size=20), after=st.text("abc. 1"))
def test_a_balanced_box_is_found_whatever_stands_around_it(before, inside, after):
    plain = inside.replace("\\", "").replace("{", "(").replace("}", ")")
    if "\\boxed" not in after:
        assert extract_boxed(f"{before} \\boxed{{{plain}}} {after}") == plain.strip()


@settings(deadline=None)
@given(st.text())
def test_any_text_is_an_outcome(text):
    for answer in (boxed_answer(text), boxed_answer(f"\\boxed{{{text}}}"), printed_answer(text)):
        assert answer is None or (is_value(answer) and answer.encode())
