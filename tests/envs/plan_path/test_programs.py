"""The tool that writes Python: programs run in the sandbox, and what they print is walked."""

from itertools import product
from random import Random

import pytest

from envs.base import Attempt, Pictures, Split, Status, StepsMany
from envs.checks import check_env
from envs.plan_path import environment
from envs.sandbox import Outcome, Result
from tests.envs.plan_path.answers import PROGRAM
from tests.envs.plan_path.drawings import begin, make_env

CORNER = "...\n.#.\n..."
RIGHT = {"demonstrations": {"right_programs": 1.0, "blind_programs": 0.0, "copy_route": 1.0,
                            "copy_straight": 0.0}}  # fmt: skip
NOTHING = {"format": -0.2, "legal": 0.0, "short": 0.0, "route": 0.0}


def fenced(program):
    return f"My program:\n```python\n{program}\n```\nDone."


def run(program, reward="dense", **options):
    """The tool's step on the corner grid, a1 to c3."""
    env, state = begin(CORNER, (0, 0), (2, 2), reward, tool="program", **options)
    return env, env.step(state, "tool", fenced(program))


@pytest.mark.parametrize(
    ("language", "given", "reward"), [("moves", "none", "dense"), ("cells", "grid", "outcome")]
)
def test_the_contract_holds(language, given, reward):
    options = {**PROGRAM, "action_language": language, "program_input": given}
    env = make_env(reward, **options)
    texts = (fenced("print(['U', 'R'])"), fenced("print('b1 c1')"), "[R, R]")
    failures = check_env(
        env, num_tasks=2, num_turns=2, texts=texts, again=lambda: make_env(reward, **options)
    )
    assert failures == []
    assert isinstance(env, StepsMany) and isinstance(env, Pictures)


@pytest.mark.parametrize(("language", "given"), list(product(("moves", "cells"), ("none", "grid"))))
def test_a_right_program_solves_whatever_it_reads_and_prints(language, given):
    env = make_env(tool="program", action_language=language, program_input=given, **RIGHT)
    for task in env.tasks(Split.TEST, 0, 0, 3):
        state = env.reset(task)
        tool = env.step(state, "tool", env.demonstrate(state, "tool", Random(0)))
        assert tool.rewards.local["route"] == 1.0 and tool.rewards.team == 0.0
        assert tool.state.position == state.position
        text = env.demonstrate(tool.state, "planner", Random(0))
        assert env.step(tool.state, "planner", text).status is Status.SOLVED


def test_programs_are_poor_unless_asked_for():
    env = make_env(**PROGRAM)
    tasks = env.tasks(Split.TRAIN, 0, 0, 60)
    states = [env.reset(task) for task in tasks]
    attempts = [Attempt(state, "tool", env.demonstrate(state, "tool", Random(i)))
                for i, state in enumerate(states)]  # fmt: skip
    solving = [result.rewards.local["route"] == 1.0 for result in env.step_many(attempts)]
    assert 0.1 < sum(solving) / 60 < 0.7


def test_the_planner_sees_grid_program_output_and_list():
    env, result = run("print('searching')\nprint(['R', 'R', 'U'])")
    prompt = env.observe(result.state, "planner")[0]["content"]
    assert " 2 . # ." in prompt
    assert "```python\nprint('searching')\nprint(['R', 'R', 'U'])\n```" in prompt
    assert "It printed:\nsearching\n['R', 'R', 'U']\nRead as: R R U\n" in prompt
    assert "it walked: R R\nResult: hit" in prompt


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("print(['R', 'R', 'D', 'D'])\n1 / 0", "runtime_error ZeroDivisionError"),
        ("print(['R', 'R', 'D', 'D'], flush=True)\nwhile True: pass", "timeout"),
        ("print(['R', 'R', 'D', 'D'])\nprint('that was it')", "that was it\nRead as: no list"),
        ("print([])", "[]\nRead as: no list"),
        ("path = ['R']", "(nothing)\nRead as: no list"),
        ("print(['north'])", "no list"),
        ("print(['R', 'R', 'D', 'D']", "SyntaxError"),
    ],
)
def test_a_program_without_a_result_walks_nowhere(program, shown):
    env, result = run(program, sandbox={"cpu_s": 0.3, "wall_s": 1.0})
    assert result.rewards == (0.0, NOTHING)
    assert result.status is Status.RUNNING
    assert shown in env.observe(result.state, "planner")[0]["content"]


def test_text_without_a_program_runs_nothing(monkeypatch):
    monkeypatch.setattr(environment, "open_sandbox", None)
    env, state = begin(CORNER, (0, 0), (2, 2), tool="program")
    for text in ("", "[R, R, D, D]", "print(['R', 'R', 'D', 'D'])", "```bash\necho R\n```"):
        result = env.step(state, "tool", text)
        assert result.rewards == (0.0, NOTHING)
        assert "Read as: no list" in env.observe(result.state, "planner")[0]["content"]


def test_what_a_program_reads():
    script = "import sys\nprint(sys.stdin.read().replace('\\n', '|'))"
    env, result = run(script, program_input="grid")
    assert (
        "It printed:\n...|.#.|...|0 0|2 2|\n" in env.observe(result.state, "planner")[0]["content"]
    )
    env, result = run(script)
    assert "It printed:\n(nothing)\n" in env.observe(result.state, "planner")[0]["content"]


class Broken:
    """A sandbox that records what it is asked for and answers as told."""

    def __init__(self, outcome):
        self.outcome, self.asked = outcome, []

    def run_many(self, runs, workers=None):
        self.asked.append([run.program for run in runs])
        return [Result(self.outcome, "['R']", "", 0.0, 0.0) for _ in runs]


def test_a_broken_sandbox_is_no_answer(monkeypatch):
    monkeypatch.setattr(environment, "open_sandbox", lambda _: Broken(Outcome.SANDBOX_ERROR))
    for reward in ("dense", "outcome"):
        _, result = run("print(['R'])", reward)
        assert result.status is Status.ERROR
        assert not any((result.rewards.team, *result.rewards.local.values()))


def test_many_texts_are_one_batch_and_the_same_results(monkeypatch):
    sandbox = Broken(Outcome.OK)
    monkeypatch.setattr(environment, "open_sandbox", lambda _: sandbox)
    env, state = begin(CORNER, (0, 0), (2, 2), tool="program")
    attempts = [
        Attempt(state, "tool", fenced("print(1)")),
        Attempt(state, "planner", "[R, R]"),
        Attempt(state, "tool", "no program"),
        Attempt(state, "tool", fenced("print(2)")),
    ]
    together = env.step_many(attempts)
    assert sandbox.asked == [["print(1)\n", "print(2)\n"]]
    assert together == [env.step(*attempt) for attempt in attempts]


def test_outcome_pays_the_program_that_reaches_the_goal():
    assert run("print('R R D D')", "outcome")[1].rewards == (0.0, {"solves": 1.0})
    assert run("print('R R D')", "outcome")[1].rewards == (0.0, {"solves": 0.0})


def test_a_worked_example_holds_a_program_and_its_output():
    env, state = begin(CORNER, (0, 0), (2, 2), tool="program", worked_example=True)
    _, answered, _ = env.observe(state, "tool")
    result = env.step(state, "tool", answered["content"])
    assert result.state.proposals[0].script.actions == (1, 3, 1, 3)
    example = env.observe(state, "planner")[0]["content"]
    assert "Read as: D R D R\n" in example and "```python\nfrom collections" in example


def test_states_with_a_program_survive_json():
    env, result = run("print(object(), ['R'], 'R')\nprint('R')")
    assert "0x" in result.state.proposals[0].script.printed
    assert env.decode_state(env.encode_state(result.state)) == result.state
    assert result.state == run("print(object(), ['R'], 'R')\nprint('R')")[1].state


def test_a_program_is_no_closed_set_of_words():
    with pytest.raises(ValueError, match=r"tool program needs prompt_style paper .* got compact"):
        make_env(tool="program", prompt_style="compact")


def test_a_picture_shows_where_everybody_is():
    env, result = run("print('R R')")
    picture = env.picture(result.state)
    assert picture.splitlines() == ["   a b c", " 1 A . .", " 2 . # .", " 3 . . G",
                                    "tool, on a copy: b1 c1 (short)"]  # fmt: skip
    moved = env.step(result.state, "planner", "[R, R, D, D]").state
    assert env.picture(moved).splitlines()[3:] == [" 3 . . @", "turn before: b1 c1 c2 c3 (ok)"]
