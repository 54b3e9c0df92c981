"""The table of graded pairs, both directions, and what no answer may do to the grader."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.maths import grading, grading_algebra
from envs.maths.grading import equal
from envs.maths.grading_algebra import GraderUnavailable, Unsettled
from tests.envs.maths import grading_cases as cases


@pytest.fixture
def no_algebra(monkeypatch):
    """Own rules alone: the algebra system says no, and what it was asked is kept."""
    asked = []
    monkeypatch.setattr(grading, "same_expression", lambda *pair: bool(asked.append(pair)))
    return asked


@pytest.mark.parametrize("group", cases.EQUAL)
def test_pairs_that_are_equal_by_own_rules(group, no_algebra):
    wrong = [pair for pair in cases.EQUAL[group] if not equal(*pair)]
    assert wrong == []
    assert no_algebra == []


@pytest.mark.parametrize("group", cases.DIFFERENT)
def test_pairs_that_are_different(group):
    assert [pair for pair in cases.DIFFERENT[group] if equal(*pair)] == []


@pytest.mark.parametrize("group", cases.EQUAL)
def test_no_answer_is_equal_to_just_any_reference(group, no_algebra):
    others = ("31337", "0.31337", "(3, 1337)", r"\{3, 1337\}", "[3, 1337]", "q = 31337", r"\infty")
    found = [(one, other) for one, _ in cases.EQUAL[group] for other in others if equal(one, other)]
    assert found == []


def test_pairs_that_need_algebra(no_algebra):
    asked = [no_algebra.clear() or equal(*pair) or len(no_algebra) for pair in cases.ALGEBRA_EQUAL]
    assert all(count is not True and count >= 1 for count in asked)


def test_the_algebra_system_finds_them_equal():
    assert [pair for pair in cases.ALGEBRA_EQUAL if not equal(*pair)] == []


def test_the_algebra_system_finds_others_different():
    assert [pair for pair in cases.ALGEBRA_DIFFERENT if equal(*pair)] == []


def test_there_are_hundreds_of_pairs():
    tables = (*cases.EQUAL.values(), *cases.DIFFERENT.values())
    algebra = (cases.ALGEBRA_EQUAL, cases.ALGEBRA_DIFFERENT)
    assert sum(map(len, (*tables, *algebra))) > 400


@pytest.mark.parametrize("pair", cases.DIFFERENT["hostile"])
def test_hostile_expressions_take_no_time(pair):
    began = time.process_time()
    assert not equal(*pair)
    assert not equal(*reversed(pair))
    assert time.process_time() - began < 0.2


def test_what_the_guards_let_through_ends_by_cpu_time(monkeypatch):
    monkeypatch.setattr(grading_algebra, "CPU_S", 0.3)
    monkeypatch.setattr(grading_algebra, "askable", lambda expression: True)
    grading_algebra._ask.cache_clear()
    began = time.perf_counter()
    assert not equal("9^{9^{9^9}}+1", "9^{9^{9^9}}-1")
    with pytest.raises(Unsettled):
        grading_algebra.same_expression("9^{9^{9^9}}+1", "9^{9^{9^9}}-1")
    assert time.perf_counter() - began < 10
    assert equal(r"\sqrt{12}", r"2\sqrt{3}")
    grading_algebra._ask.cache_clear()


def test_after_one_unsettled_expression_nothing_more_is_asked(monkeypatch):
    asked = []

    def unsettled(*pair):
        asked.append(pair)
        raise Unsettled

    monkeypatch.setattr(grading, "same_expression", unsettled)
    many = ", ".join(rf"\sqrt{{{n}}}" for n in range(2, 12))
    assert not equal(many, many.replace("sqrt", "log "))
    assert len(asked) == 1


def test_a_worker_that_dies_is_replaced():
    worker = grading_algebra._Worker()
    good = {"mine": r"\sqrt{9}", "theirs": "3+0", "cpu_s": 2.0}
    first = worker._running()
    first.kill()
    first.wait()
    assert worker.ask(good) == {"equal": True}
    assert worker.process is not first
    worker.close()
    assert worker.process is None


def test_a_question_that_kills_two_workers_is_answered_no():
    worker = grading_algebra._Worker(("/bin/sh", "-c", "echo ready; read question; exit 1"))
    assert worker.ask({"mine": "1", "cpu_s": 1.0}) == {"equal": None}
    worker.close()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("/bin/false",), "does not start; expected math-verify"),
        (("/bin/sleep", "9"), "said nothing"),
        (("/bin/sh", "-c", "echo ready; exec sleep 9"), "said nothing"),
    ],
)
def test_a_worker_that_cannot_run_is_no_wrong_answer(command, sentence, monkeypatch):
    monkeypatch.setattr(grading_algebra, "WALL_S", 0.2)
    worker = grading_algebra._Worker(command)
    with pytest.raises(GraderUnavailable, match=sentence):
        worker.ask({"mine": "1", "cpu_s": 1.0})
    assert worker.process is None


def test_the_worker_sees_none_of_our_environment(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert set(grading_algebra._environment()) == {
        "PYTHONHASHSEED", "PYTHONPATH", "OMP_NUM_THREADS", "LC_ALL",
    }  # fmt: skip


@settings(deadline=None)
@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_integers_are_exact(one, other):
    assert equal(str(one), str(other)) == (one == other)
    assert equal(f"{one:,}", str(one))
    assert equal(f"{one}.0", str(other)) == (one == other)


@settings(deadline=None)
@given(st.fractions(-1000, 1000, max_denominator=999))
def test_a_fraction_in_all_its_spellings(value):
    top, bottom = value.numerator, value.denominator
    spellings = [f"{top}/{bottom}", rf"\frac{{{top}}}{{{bottom}}}", f"{3 * top}/{3 * bottom}",
                 rf"x = \dfrac{{{top}}}{{{bottom}}}", rf"$\frac{{{-top}}}{{{-bottom}}}$",
                 f"{float(100 * value):.12f}%", f"({top})/({bottom})"]  # fmt: skip
    for spelling in spellings:
        assert equal(spelling, spellings[1]), spelling
        assert not equal(spelling, f"{top + 1}/{bottom}"), spelling


PIECES = [
    "1",
    "2",
    "3/4",
    "0.5",
    "x",
    "=",
    ",",
    "(",
    ")",
    "[",
    "]",
    r"\{",
    r"\}",
    " and ",
    "{",
    "}",
    r"\frac",
    r"\pm ",
    "<",
    r"\le ",
    r"\infty",
    r"\cup ",
    "%",
    " cm",
    "-",
    "^",
    ";",
    r"\text{",
    "!",
]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30), st.data()
)
def test_any_two_texts_are_compared_quickly_by_own_rules(text, data):
    other = data.draw(st.sampled_from(["5", "(1, 2)", r"\{1, 2\}", "x = 1, y = 2", "1, 2", text]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "same_expression", lambda *_: False)
        began = time.process_time()
        assert equal(text, other) in (True, False)
        assert equal(other, text) in (True, False)
        assert time.process_time() - began < 0.5
