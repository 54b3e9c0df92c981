"""Train, validation and test never share a task, in any built-in environment, whatever the seeds.

Compared are the payload's digest, and what the roles read when the task begins: two payloads that
differ but show one problem would be one task too.
"""

import json
from collections import defaultdict

import pytest

from envs.base import Environment, Split, Task
from envs.checking.report import Report
from envs.checking.streams import check_splits, digest, tasks_of
from tests.envs import broken
from tests.envs.cases import Case, all_cases

SEEDS = (0, 1, 7)
COUNT, MANY = 40, 1_000


def shown(env: Environment, task: Task) -> str:
    """What all roles read at the beginning."""
    state = env.reset(task)
    return json.dumps([env.observe(state, role) for role in env.roles], sort_keys=True)


def owners(env: Environment, count: int) -> dict[str, set[Split]]:
    """Digest, or text at the beginning, of a task -> the splits that it was drawn for."""
    found: dict[str, set[Split]] = defaultdict(set)
    report = Report()
    for split in Split:
        for seed in SEEDS:
            for task in tasks_of(env, split, seed, 0, count, report):
                found[digest(task)].add(split)
                found[shown(env, task)].add(split)
    assert report.failures == []
    return found


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_splits_share_nothing(case: Case) -> None:
    found = owners(case.recipe.make(), COUNT)
    assert len(found) >= 2
    assert [key for key, splits in found.items() if len(splits) > 1] == []


@pytest.mark.full
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_longer_streams_share_nothing(case: Case) -> None:
    found = owners(case.recipe.make(), MANY)
    assert [key for key, splits in found.items() if len(splits) > 1] == []


class OneProblemInTwoSplits(broken.Honest):
    """The payloads differ, the problem does not."""

    def reset(self, task: Task) -> broken.Counter:
        return broken.Counter(7)


def test_one_problem_under_two_payloads_is_found() -> None:
    report = Report()
    check_splits(OneProblemInTwoSplits(), COUNT, 0, report)
    assert report.failures == [], "the payloads alone say nothing"
    assert any(len(splits) == 3 for splits in owners(OneProblemInTwoSplits(), 3).values())
    assert any(len(splits) == 3 for splits in owners(broken.SplitsShared(), 3).values())
