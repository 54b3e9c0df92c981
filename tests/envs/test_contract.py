"""check_env on every built-in environment and option set, from another process too."""

from collections import defaultdict

import pytest

from envs.base import Demonstrates, Pictures
from envs.checks import check_env
from envs.registry import BUILT_IN
from tests.envs.cases import Case, all_cases, invalid_moves


@pytest.mark.full
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_the_contract_holds_across_processes(case: Case) -> None:
    env = case.recipe.make()
    invalid = invalid_moves(case.recipe.name, env)
    assert check_env(env, num_tasks=4, recipe=case.recipe, invalid=invalid) == []


def test_every_environment_offers_a_team_and_a_single_agent() -> None:
    sizes: dict[str, set[int]] = defaultdict(set)
    for case in all_cases():
        sizes[case.recipe.name].add(len(case.recipe.make().roles))
    assert set(sizes) == set(BUILT_IN)
    assert {name for name, found in sizes.items() if 1 not in found or max(found) < 2} == set()


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_environment_shows_pictures_examples_and_both_presets(name: str) -> None:
    (first, *_) = [case for case in all_cases() if case.recipe.name == name]
    env = first.recipe.make()
    assert isinstance(env, Demonstrates)
    assert isinstance(env, Pictures)
    assert set(env.reward_presets) >= {"dense", "outcome"}
    assert env.name == name
