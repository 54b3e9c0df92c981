"""The tool's Python programs, run in the real sandbox."""

from random import Random

import pytest

from envs.base import Attempt, Split, Status, StepsMany
from envs.checks import check_env
from envs.sandbox import Outcome, Result
from envs.sudoku import programs
from tests.envs.sudoku.puzzles import GOLDEN, GOLDEN_SOLUTION, begin, make_env

SOLVER = {"all_clues": 1.0, "few_clues": 0.0, "some_clues": 0.0}


def fenced(program):
    """As a model writes it."""
    return f"My program:\n```python\n{program}\n```"


@pytest.mark.parametrize("answer", ["fills", "grid"])
def test_a_program_that_solves(answer):
    env, state = begin(tool="program", answer=answer, demonstrations=SOLVER)
    result = env.step(state, "tool", env.demonstrate(state, "tool", Random(0)))
    assert result.status is Status.RUNNING
    assert result.rewards.local["fills"] == 1.0
    shown = env.observe(result.state, "planner")[0]["content"]
    assert "Its output:" in shown and "Result: ok" in shown
    text = env.demonstrate(result.state, "planner", Random(1))
    assert env.step(result.state, "planner", text).status is Status.SOLVED


@pytest.mark.parametrize(
    ("program", "word", "output"),
    [
        ("print('r1c2=4')", "short", "r1c2=4"),
        ("print('r1c1=1')", "clue", "r1c1=1"),
        ("print('I am done')", "error", "I am done"),
        ("print(1 / 0)", "error", "ZeroDivisionError"),
        ("while True: pass", "error", "timeout"),
        (f"print('{GOLDEN_SOLUTION}')\nimport os\nos._exit(0)", "error", "runtime_error"),
        ("import sys; print(sys.stdin.read())", "short", "2000\n1342"),
    ],
)
def test_what_came_of_a_program(program, word, output):
    env, state = begin(tool="program", answer="grid", sandbox={"cpu_s": 0.3})
    result = env.step(state, "tool", fenced(program))
    assert result.state.proposal.placed.word == word
    assert output in result.state.proposal.output
    assert result.rewards.local["fills"] <= 0.5


def test_many_are_judged_as_one_by_one():
    env, state = begin(tool="program")
    rng = Random(0)
    roles = ["tool", "planner", "tool", "tool", "planner"]
    attempts = [Attempt(state, role, env.demonstrate(state, role, rng)) for role in roles]
    attempts.append(Attempt(state, "tool", "no program"))
    assert isinstance(env, StepsMany)
    assert env.step_many(attempts) == [env.step(*attempt) for attempt in attempts]


def test_a_sandbox_that_fails_judges_nobody(monkeypatch):
    class Broken:
        def run_many(self, runs):
            return [Result(Outcome.SANDBOX_ERROR, "", "", 0.0, 0.0) for _ in runs]

    monkeypatch.setattr(programs, "open_sandbox", lambda options: Broken())
    env, state = begin(tool="program")
    result = env.step(state, "tool", fenced("print('r1c2=4')"))
    assert result.status is Status.ERROR
    assert result.state == state
    assert set(result.rewards.local.values()) == {0.0}


@pytest.mark.parametrize("reward", ["dense", "outcome"])
def test_the_contract_holds(reward):
    env = make_env(reward, tool="program")
    assert check_env(env, num_tasks=2, num_turns=2) == []


def test_a_single_agent_has_no_programs():
    env = make_env(tool="program", roles="planner")
    (task,) = env.tasks(Split.TRAIN, 0, 0, 1)
    assert not isinstance(env, StepsMany)
    assert env.reset(task).clues != GOLDEN
