"""Judging in several processes: the same results, and the faults of processes."""

import gc
import os
from collections.abc import Callable
from typing import Any, Literal

import pytest

from components.env_execution import workers
from components.env_execution.environments import open_environments
from components.env_execution.workers import InWorkers, in_workers, num_cores
from components.errors import RolewiseError
from envs.base import Attempt, Order, Split, StepsMany
from envs.registry import Recipe, make_environment
from tests.doubles.environments import Tracer
from tests.doubles.experiment import make_config
from tests.doubles.rows import make_rules, play_texts

TRACER = "tests.doubles.environments:make_tracer"
MOODY = "tests.components.env_execution.moody:make_moody"


def opened(name: str, options: dict[str, Any], count: int | Literal["auto"]) -> Any:
    """The environment with workers."""
    recipe = Recipe(name, options, "dense")
    return in_workers(make_environment(name, options, "dense"), recipe, count)


def attempts(env: Any, *texts: str) -> list[Attempt]:
    """Each text of role A at the start of two tasks."""
    states = [env.reset(task) for task in env.tasks(Split.TRAIN, 0, 0, 2)]
    return [Attempt(state, "A", text) for text in texts for state in states]


@pytest.mark.parametrize("order", list(Order))
def test_whole_plays_are_the_same_with_any_number_of_workers(order: Order) -> None:
    options = {"order": order.value, "endings": {"0:A5": "solved", "B9": "error"}}
    alone = make_environment(TRACER, options, "dense")
    expected = play_texts(alone, make_rules(), num_tasks=5)
    for count in (1, 2, 3):
        env = opened(TRACER, options, count)
        assert play_texts(env, make_rules(), num_tasks=5) == expected


def test_texts_of_any_kind_arrive_as_they_are() -> None:
    env = opened(TRACER, {}, 2)
    texts = ["5", "", "\ud800", "日本語\n\u2028", "x" * 200_000, '"}\\']
    batch = attempts(env, *texts)
    assert env.step_many(batch) == [env.step(*attempt) for attempt in batch]
    assert env.step_many([]) == []


def test_auto_starts_none_for_a_cheap_environment_and_some_for_a_slow_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = opened(TRACER, {}, "auto")
    batch = attempts(env, *"0123456789" * 4)
    expected = [env.step(*attempt) for attempt in batch]
    assert env.step_many(batch) == expected
    assert env._pool is None
    monkeypatch.setattr(workers, "PAYS_FROM_S", 0.0)
    assert env.step_many(batch) == expected
    assert env._pool is None, "a text is judged sooner than sent"
    monkeypatch.setattr(workers, "CHEAP_S", 0.0)
    assert env.step_many(batch) == expected
    assert env._pool.size == num_cores() >= 1
    assert env.step_many(batch[:3]) == expected[:3]


def test_processes_end_with_their_environment() -> None:
    env = opened(TRACER, {}, 2)
    env.step_many(attempts(env, "1"))
    processes = [env._pool.idle.get() for _ in range(2)]
    del env
    gc.collect()
    assert [process.returncode for process in processes] == [0, 0]


def test_what_step_raises_is_raised() -> None:
    env = opened(TRACER, {}, 2)
    with pytest.raises(AssertionError, match="an ended episode was stepped"):
        env.step_many([*attempts(env, "1"), Attempt((0, ("END",)), "A", "1")])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("die", "ended with exit status 9"), ("complain", "raised in a worker process and not here")],
)
def test_faults_of_workers_are_sentences(text: str, sentence: str) -> None:
    env = opened(MOODY, {"home": os.getpid()}, 2)
    with pytest.raises(RolewiseError, match=sentence):
        env.step_many(attempts(env, "1", text))


def test_prints_of_an_environment_do_not_mix_with_answers() -> None:
    env = opened(MOODY, {"home": os.getpid()}, 1)
    batch = attempts(env, "print")
    assert env.step_many(batch) == [env.step(*attempt) for attempt in batch]


@pytest.mark.parametrize(("count", "kind"), [(1, Tracer), (2, InWorkers), ("auto", InWorkers)])
def test_the_configuration_decides(count: int | str, kind: Callable[..., Any]) -> None:
    roles = {"A": "tool", "B": "plan"}
    config = make_config(env={"name": TRACER}, roles=roles, rollout={"env_workers": count})
    env = open_environments(config)[0].env
    assert type(env) is kind
    assert isinstance(env, StepsMany) == (kind is InWorkers)
    assert (env.name, env.roles) == ("tracer", ("A", "B"))
