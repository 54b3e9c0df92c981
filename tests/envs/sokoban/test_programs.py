"""Python programs of the tool, run in the real sandbox."""

from random import Random

import pytest

from envs.base import Attempt, Split, Status, StepsMany
from envs.checks import check_env
from envs.sandbox import Outcome, Result
from envs.sokoban import python_tool
from envs.sokoban.example_program import searching
from tests.envs.sokoban.drawings import GOLDEN, TWO, begin, make_env

FENCE = "I think so.\n```python\n{}\n```"
RIGHT = FENCE.format("print(['D', 'D', 'L', 'D', 'R'])")


def test_a_team_with_programs_keeps_the_contract():
    env = make_env(tool="program")
    assert isinstance(env, StepsMany)
    assert (
        check_env(env, num_tasks=2, num_turns=2, texts=(RIGHT, "[U]", "```python\n1/0\n```")) == []
    )


def test_what_is_printed_is_tried_on_a_copy_and_shown_to_the_planner():
    env, state = begin(GOLDEN, tool="program")
    result = env.step(state, "tool", RIGHT)
    assert result.status is Status.RUNNING and result.state.level == state.level
    assert result.rewards.local["route"] == 1.0
    prompt = env.observe(result.state, "planner")[0]["content"]
    assert "The tool wrote:\n| print(['D', 'D', 'L', 'D', 'R'])\n" in prompt
    assert "It printed:\n| ['D', 'D', 'L', 'D', 'R']\n" in prompt
    assert "Tried on a copy, it did: D D L D R\nResult: ok" in prompt


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("print(1 / 0)", "(runtime_error)"),
        ("while True: pass", "(timeout)"),
        ("x = 1", "(nothing)"),
        ("print('I would go up')", "I would go up"),
        ("import os\nprint('[D, D, L, D, R]', flush=True)\nos._exit(0)", "(runtime_error)"),
    ],
)
def test_a_program_without_moves_earns_nothing(program, told):
    env, state = begin(GOLDEN, tool="program", sandbox={"cpu_s": 0.3, "wall_s": 3.0})
    result = env.step(state, "tool", FENCE.format(program))
    assert result.rewards.local["format"] == -0.2
    assert max(result.rewards.local.values()) == 0.0
    assert told in env.observe(result.state, "planner")[0]["content"]


@pytest.mark.parametrize("language", ["moves", "cells", "pushes"])
def test_the_example_that_searches_solves_levels_from_its_standard_input(language):
    env = make_env(tool="program", action_language=language)
    states = [env.reset(task) for task in env.tasks(Split.TEST, 0, 0, 4)]
    results = env.step_many([Attempt(state, "tool", searching(language)) for state in states])
    assert [result.rewards.local["route"] for result in results] == [1.0] * 4
    two, state = begin(TWO, num_boxes=2, tool="program", action_language=language)
    assert two.step(state, "tool", searching(language)).rewards.local["route"] == 1.0


def test_many_texts_of_both_roles_come_back_in_order():
    env, state = begin(GOLDEN, tool="program")
    attempts = [Attempt(state, role, text) for role, text in (
        ("tool", RIGHT), ("planner", "[D]"), ("tool", "no program"), ("planner", "[U]"),
        ("tool", FENCE.format("print('[D]')")))]  # fmt: skip
    assert env.step_many(attempts) == [env.step(*attempt) for attempt in attempts]


def test_a_run_that_the_sandbox_could_not_make_is_no_answer(monkeypatch):
    class Broken:
        def run_many(self, runs):
            return [Result(Outcome.SANDBOX_ERROR, "[D, D, L, D, R]", "", 0.0, 0.0) for _ in runs]

    monkeypatch.setattr(python_tool, "open_sandbox", lambda options: Broken())
    env, state = begin(GOLDEN, tool="program")
    result = env.step(state, "tool", RIGHT)
    assert result.status is Status.ERROR
    assert set(result.rewards.local.values()) == {0.0}


def test_demonstrated_programs_are_of_every_kind():
    env = make_env(tool="program", demonstrations={"shortest": 0.5})
    state = env.reset(env.tasks(Split.TRAIN, 0, 0, 1)[0])
    rng = Random(0)
    texts = {env.demonstrate(state, "tool", rng) for _ in range(40)}
    assert searching("moves") in texts and len(texts) > 4
