"""Train, validation and test never share a task, in any built-in environment, whatever the seeds.

Compared are the payload's digest, and what the roles read when the task begins: two payloads that
differ but show one problem would be one task too.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator

import pytest

from envs.base import Environment, Split, Task
from envs.checking.report import Report
from envs.checking.streams import check_splits, digest, tasks_of
from envs.splits import StreamEnds, drawn
from tests.envs import broken
from tests.envs.cases import Case, all_cases

SEEDS = (0, 7)
COUNT, MANY = 20, 1_000
SLICE = 5
ENOUGH_S, LONG_S = 0.1, 20.0
"""CPU seconds after which a stream of slow generators has been looked at long enough."""


def shown(env: Environment, task: Task) -> str:
    """What all roles read at the beginning."""
    state = env.reset(task)
    return json.dumps([env.observe(state, role) for role in env.roles], sort_keys=True)


def stream(env: Environment, split: Split, seed: int, count: int, limit_s: float) -> Iterator[Task]:
    """At most `count` tasks, slice by slice, until the time is up or the stream ends."""
    report, begun = Report(), time.process_time()
    for start in range(0, count, SLICE):
        tasks = tasks_of(env, split, seed, start, min(SLICE, count - start), report)
        yield from tasks
        if len(tasks) < SLICE or time.process_time() - begun > limit_s:
            break
    assert report.failures == []


def owners(env: Environment, count: int, limit_s: float = ENOUGH_S) -> dict[str, set[Split]]:
    """Digest, or text at the beginning, of a task -> the splits that it was drawn for."""
    found: dict[str, set[Split]] = defaultdict(set)
    for split in Split:
        for seed in SEEDS:
            for task in stream(env, split, seed, count, limit_s):
                found[digest(task)].add(split)
                found[shown(env, task)].add(split)
    return found


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_splits_share_nothing(case: Case) -> None:
    found = owners(case.recipe.make(), COUNT)
    assert len(found) >= 2
    assert [key for key, splits in found.items() if len(splits) > 1] == []


@pytest.mark.full
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_longer_streams_share_nothing(case: Case) -> None:
    found = owners(case.recipe.make(), MANY, LONG_S)
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


def test_what_fails_in_the_middle_of_a_stream_is_no_end() -> None:
    def draw(index: int) -> int:
        if index >= 5:
            raise StreamEnds("5 tasks")
        if index == 3:
            raise ValueError("broken")
        return index

    assert drawn(draw, 0, 2) == [0, 1] and drawn(draw, 4, 9) == [4] and drawn(draw, 9, 0) == []
    with pytest.raises(ValueError, match="broken"):
        drawn(draw, 2, 9)
    with pytest.raises(StreamEnds, match="5 tasks"):
        drawn(draw, 5, 1)
