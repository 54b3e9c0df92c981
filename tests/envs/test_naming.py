"""An environment under another name is the same environment."""

from random import Random
from typing import cast

import pytest

from envs.base import Attempt, Demonstrates, Environment, HasLexicon, Split, StepsMany
from envs.checks import check_env
from envs.naming import named
from envs.registry import make_environment

COMPACT = {"height": 4, "width": 4, "num_walls": 3, "prompt_style": "compact", "tool": "search",
           "action_language": "cells"}  # fmt: skip


def paths() -> Environment:
    return make_environment("plan_path", COMPACT, "dense")


def test_tasks_are_told_apart_and_roles_have_the_teams_names() -> None:
    env, own = named(paths(), "easy", {"tool": "coder"}), paths()
    task, original = env.tasks(Split.TRAIN, 0, 3, 1)[0], own.tasks(Split.TRAIN, 0, 3, 1)[0]
    assert (env.name, env.roles) == ("easy", ("coder", "planner"))
    assert task.task_id == f"easy/{original.task_id}" and task.payload == original.payload
    state = env.reset(task)
    assert env.observe(state, "coder") == own.observe(state, "tool")
    assert env.step(state, "coder", "path a1 a2") == own.step(state, "tool", "path a1 a2")
    assert set(env.reward_presets["dense"].local) == {"coder", "planner"}


def test_ids_that_begin_with_the_name_stay_as_they_are() -> None:
    env = named(paths(), "plan_path", {})
    assert env.tasks(Split.TRAIN, 0, 0, 2) == paths().tasks(Split.TRAIN, 0, 0, 2)


def test_the_contract_holds_and_nothing_is_lost() -> None:
    env = named(paths(), "easy", {"tool": "coder"})
    assert check_env(env) == []
    assert isinstance(env, HasLexicon) and env.lexicon() == cast(HasLexicon, paths()).lexicon()
    assert isinstance(env, Demonstrates) and isinstance(env, StepsMany)
    state = env.reset(env.tasks(Split.TRAIN, 0, 0, 1)[0])
    shown = cast(Demonstrates, paths()).demonstrate(state, "tool", Random(1))
    assert env.demonstrate(state, "coder", Random(1)) == shown
    attempts = [Attempt(state, "coder", shown), Attempt(state, "coder", "")]
    assert env.step_many(attempts) == [env.step(*attempt) for attempt in attempts]


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"judge": "planner"}, r"unknown \['judge'\]; it has \['tool', 'planner'\]"),
        ({"tool": "planner"}, "the team's role 'planner' plays two of its roles"),
    ],
)
def test_roles_that_do_not_fit_are_refused(roles: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        named(paths(), "easy", roles)


def test_the_old_name_of_a_role_is_unknown() -> None:
    env = named(paths(), "easy", {"tool": "coder"})
    state = env.reset(env.tasks(Split.TRAIN, 0, 0, 1)[0])
    with pytest.raises(ValueError, match=r"easy: role is 'tool'; expected one of \['coder'"):
        env.observe(state, "tool")
