"""The package's graders behind our own rules: no text is run, nothing raises, nothing hangs."""

import time
from pathlib import Path

import pytest

from envs.base import Split
from envs.reasoning_gym import entries, generators, grading
from envs.reasoning_gym.audit import HEAVY
from envs.reasoning_gym.inert import RULES
from envs.reasoning_gym.streams import trustworthy
from tests.envs.reasoning_gym.questions import make_env, tag

EVALUATING = ("binary_matrix", "n_queens", "spiral_matrix", "string_insertion", "countdown",
              "polynomial_multiplication", "simple_integration")  # fmt: skip
NUMERIC = ("chain_sum", "coin_flip", "complex_arithmetic", "decimal_arithmetic", "power_function",
           "prime_factorization", "products", "fraction_simplification")  # fmt: skip


def an_entry(task):
    """An entry whose reference answer scores 1."""
    made = (entries.dump(generators.make_entry(task, {}, seed)) for seed in range(9))
    return next(entry for entry in made if trustworthy(task, "{}", entry))


@pytest.mark.parametrize("task", EVALUATING)
def test_an_answer_is_never_run(task, tmp_path):
    target = tmp_path / "written"
    entry = an_entry(task)
    for code in (
        f"open({str(target)!r}, 'w').close()",
        f"[open({str(target)!r}, 'w')]",
        f"(lambda: open({str(target)!r}, 'w'))()",
        f"__import__('pathlib').Path({str(target)!r}).touch()",
        f"[c for c in ().__class__.__base__.__subclasses__()] + [open({str(target)!r}, 'w')]",
        "x.__class__.__init__.__globals__",
        "exec(1)",
        "S('1')",
    ):
        assert grading.score(task, "{}", entry, code) == 0.0
    assert not Path(target).exists()


@pytest.mark.parametrize("task", [*EVALUATING, *NUMERIC])
def test_reference_answers_pass_and_nothing_keeps_a_grader_busy(task):
    entry = an_entry(task)
    assert grading.score(task, "{}", entry, grading.read(entry)["answer"]) == 1.0
    for answer in HEAVY:
        began = time.process_time()
        assert grading.score(task, "{}", entry, answer) < 1.0
        assert time.process_time() - began < 1.0, answer


@pytest.mark.parametrize("task", ["game_of_life", "prime_factorization"])
def test_graders_that_raise_score_0(task):
    entry = an_entry(task)
    for answer in ("", "?!", "[", "3", "null", "x × y", "[[[]]]", None):
        assert 0.0 <= grading.score(task, "{}", entry, answer) < 1.0


@pytest.mark.parametrize(
    ("task", "inert", "refused"),
    [
        ("countdown", ["1 + 2*(3-4)/5"], ["2**9", "9//2", "x", "1e9", "(1)" * 99, "1" * 16, "+.a"]),
        ("coin_flip", ["0.25", "1/4", " 1,000.5"], ["1e9", "1/1e9", "", "0x1", "nan", "١"]),
        ("polynomial_multiplication", ["8*x**4*y**2 - y*x ** 2 + 3", "(x + 1)*(y)"],
         ["x**999", "(x+1)**9", "2**99", "x**y", "x.y", "x**2**9", "exp(x)", "x[0]", "é"]),
        ("simple_integration", ["-9*x**8/10 + 3*X**4/2 + C"], ["(x + 1)", "x**100", "exp(1)"]),
    ],
)  # fmt: skip
def test_what_may_reach_a_grader_that_computes(task, inert, refused):
    assert [answer for answer in inert if not RULES[task](answer)] == []
    assert [answer for answer in refused if RULES[task](answer)] == []


def test_graders_cannot_change_a_state():
    env = make_env("jugs")
    (task,) = env.tasks(Split.TRAIN, 0, 0, 1)
    state = env.reset(task)
    before = env.encode_state(state)
    reference = tag(grading.read(state.entry)["answer"])
    first = env.step(state, "reasoner", reference)
    assert env.encode_state(state) == before
    assert env.step(state, "reasoner", reference) == first


@pytest.mark.parametrize("found", [float("nan"), float("inf"), 1.5, -0.5, "high", None])
def test_scores_outside_their_range_are_no_scores(found, monkeypatch):
    class Odd:
        def score_answer(self, answer, entry):
            return found

    monkeypatch.setattr(grading, "grader", lambda task, config: Odd())
    assert grading.score("gcd", "{}", entries.dump({"question": "", "answer": "1"}), "1") == 0.0


@pytest.mark.parametrize("task", ["gcd", "aiw", "mini_sudoku", "list_functions"])
def test_partial_credit_is_no_success(task):
    env = make_env(task, "outcome")
    for item in env.tasks(Split.TRAIN, 0, 0, 4):
        state = env.reset(item)
        reference = grading.read(state.entry)["answer"]
        for text in (
            f"{reference} {reference}",
            f"one of 0 1 2 {reference}",
            "12345678901234567890",
        ):
            result = env.step(state, "reasoner", tag(text))
            assert result.rewards.team == 0.0 and result.status == "running"


@pytest.mark.parametrize("task", ["color_cube_rotation", "power_function", "countdown",
                                  "fraction_simplification", "palindrome_generation"])  # fmt: skip
def test_garbage_earns_no_partial_credit(task):
    entry = an_entry(task)
    for answer in ("(1", "True", "a" * 40, "?!"):
        assert grading.score(task, "{}", entry, answer) == 0.0, answer


@pytest.mark.parametrize(("found", "kept"), [(0.05, 0.0), (0.01, 0.0), (0.06, 0.06), (1.0, 1.0)])
def test_only_scores_above_the_floor_count(found, kept, monkeypatch):
    class Fixed:
        def score_answer(self, answer, entry):
            return found

    monkeypatch.setattr(grading, "grader", lambda task, config: Fixed())
    assert grading.score("gcd", "{}", entries.dump({"question": "", "answer": "1"}), "1") == kept
