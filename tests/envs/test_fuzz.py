"""Fuzzed completions for every built-in environment: no exception, legal outcomes.

500 for each in `make test`, 10,000 in `make test-full`, shared out among its option sets.
"""

import warnings
from random import Random

import pytest

from envs.base import Attempt, Rewards, Split, Status
from envs.registry import BUILT_IN, Recipe
from tests.envs import fuzz as fuzzing
from tests.envs.broken import Honest
from tests.envs.cases import Case, all_cases, cases_of
from tests.envs.mutations import LONGEST, MUTATIONS, mutate

CASES = all_cases()
FEW, MANY = 500, 10_000


def share(case: Case, total: int) -> int:
    return -(-total // len(cases_of(case.recipe.name)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fuzzed_completions_are_outcomes(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fuzzing.fuzz(case, share(case, FEW))
    assert found.total() >= share(case, FEW)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=str)
def test_many_fuzzed_completions_are_outcomes(case: Case) -> None:
    assert fuzzing.fuzz(case, share(case, MANY)).total() >= share(case, MANY)


def test_every_environment_is_fuzzed() -> None:
    assert {case.recipe.name for case in CASES} == set(BUILT_IN)


@pytest.mark.parametrize(
    ("status", "rewards", "sentence"),
    [
        (Status.OUT_OF_TURNS, Rewards(0.0, {"close": 0.0}), "status out_of_turns"),
        (Status.ERROR, Rewards(0.0, {"close": 0.0}), "status error"),
        (Status.RUNNING, Rewards(2.0, {"close": 0.0}), "honest, speaker: 'x'"),
        (Status.RUNNING, Rewards(0.0, {}), "honest, speaker: 'x'"),
    ],
)
def test_outcomes_that_no_environment_may_have(
    status: Status, rewards: Rewards, sentence: str
) -> None:
    env = Honest()
    attempt = Attempt(env.reset(env.tasks(Split.TRAIN, 0, 0, 1)[0]), "speaker", "x")
    result = env.step(*attempt)
    fuzzing.check_result(env, attempt, result)
    with pytest.raises(AssertionError, match=sentence):
        fuzzing.check_result(env, attempt, result._replace(status=status, rewards=rewards))


def test_a_fragile_environment_is_found_with_the_text() -> None:
    factory = "tests.envs.broken_factories:make_broken"
    with pytest.raises(AssertionError, match="honest, speaker: .* raises ValueError"):
        fuzzing.fuzz(Case("raises", Recipe(factory, {"name": "Raises"}, "dense")), 50)


def test_mutations_are_repeatable_and_each_changes_something() -> None:
    texts = ["one two three", "[U, D]\n[L]"]
    drawn = [mutate(texts, Random(seed)) for seed in range(400)]
    assert drawn == [mutate(texts, Random(seed)) for seed in range(400)]
    assert len(set(drawn)) > 350
    assert max(len(text) for text in drawn) == LONGEST
    for mutation in MUTATIONS:
        assert any(mutation(texts[1], Random(seed)) != texts[1] for seed in range(9)), mutation
        assert isinstance(mutation("", Random(0)), str)
