"""Golden tests stay hidden, nothing that can be gamed pays, and a broken sandbox is no answer."""

import json
from random import Random

import pytest

from envs.base import Attempt, Split, Status
from envs.code import environment
from envs.code.execution import MARK
from envs.registry import make_environment
from envs.sandbox import Outcome, Result, open_sandbox
from tests.envs.code.made import (
    DOUBLE,
    FAST,
    INPUT_MARK,
    OUTPUT_MARK,
    add,
    begin,
    cases,
    double,
    env_of,
    program,
    turn,
    written,
)


class Recorder:
    """Stands between the environment and the sandbox."""

    def __init__(self, answer=None):
        self.batches, self.answer = [], answer

    def open(self, options):
        self.real = open_sandbox(options)
        return self

    def run_many(self, runs):
        self.batches.append(list(runs))
        return [self.answer] * len(runs) if self.answer else self.real.run_many(runs)


@pytest.fixture
def recorder(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(environment, "open_sandbox", recorder.open)
    return recorder


def marked(number=0):
    """Its golden tests can be told from all other text."""
    golden = cases((INPUT_MARK, OUTPUT_MARK), (f"{INPUT_MARK}1", f"{OUTPUT_MARK}1"))
    return double(number, golden_tests=golden, solution="print(str(input()).replace('7', '8'))")


@pytest.mark.parametrize("roles", ["team", "coder"])
def test_golden_tests_are_in_no_prompt_no_state_and_no_task(tmp_path, roles):
    env = env_of(tmp_path, *[marked(n) for n in range(6)], roles=roles)
    rng, texts = (
        Random(0),
        [program("print(input())"), program("print(1 / 0)"), "", written(("1", "1"))],
    )
    for task in env.tasks(Split.TRAIN, 0, 0, 6):
        seen, state = [json.dumps(task.payload)], env.reset(task)
        for _ in range(4):
            for role in env.roles:
                seen += [message["content"] for message in env.observe(state, role)]
                seen.append(json.dumps(env.encode_state(state)))
                text = rng.choice([*texts, env.demonstrate(state, role, rng)])
                if role == "tester":
                    seen.append(env.demonstrate(state, role, rng))
                result = env.step(state, role, text)
                state = result.state
            if result.status is not Status.RUNNING:
                break
        assert not [text for text in seen if INPUT_MARK in text or OUTPUT_MARK in text]


def test_the_prompts_of_real_problems_hold_no_golden_test():
    env = make_environment("code", {}, "dense")
    for row in env.problems.by_key.values():
        state = environment.CodeState(row.key)
        shown = "".join(env.observe(state, "tester")[0]["content"].split())
        for test in row.golden_tests:
            call = f"{row.entry_point}({test.input[1:-1]})"
            assert "".join(call.split()) not in shown, (row.source, call)


def test_fault_9_expected_values_never_enter_the_sandbox(tmp_path, recorder):
    env, state = begin(tmp_path, marked())
    turn(env, state, program("print(input())"), written(("5", "4445444")))
    runs = [run for batch in recorder.batches for run in batch]
    assert len(runs) == 3 + 2
    texts = [run.program + run.stdin for run in runs]
    assert not [text for text in texts if OUTPUT_MARK in text or "4445444" in text]
    assert [text for text in texts if INPUT_MARK in text]


def test_a_batch_is_one_call_and_equal_runs_are_one(tmp_path, recorder):
    env, state = begin(tmp_path, double())
    attempts = [Attempt(state, "coder", program(text)) for text in (DOUBLE, DOUBLE, "print(1)")]
    env.step_many(attempts)
    assert [len(batch) for batch in recorder.batches] == [2 * (1 + 5)]
    env.step(state, "coder", "no program")
    assert len(recorder.batches) == 1


@pytest.mark.parametrize("reward", ["dense", "outcome"])
def test_fault_6_a_failed_sandbox_is_an_error_and_no_answer(tmp_path, recorder, reward):
    env, state = begin(tmp_path, double(), reward)
    good = env.step(state, "coder", program(DOUBLE)).state
    recorder.answer = Result(Outcome.SANDBOX_ERROR, "", "", 0.0, 0.0)
    for role, before, text in (
        ("coder", state, program(DOUBLE)),
        ("tester", good, written(("3", "6"))),
    ):
        result = env.step(before, role, text)
        assert result.status is Status.ERROR
        assert result.state == before
        assert result.rewards.team == 0.0
        assert set(result.rewards.local) == set(env.reward_presets[reward].local[role])
        assert not any(result.rewards.local.values())


@pytest.mark.parametrize(
    "text",
    [
        "import os\nprint(2 * int(input()), flush=True)\nos._exit(0)",
        "import sys\nprint(2 * int(input()), flush=True)\nsys.exit(0)",
        "print(2 * int(input()), flush=True)\nwhile True: pass",
        "print(2 * int(input()))\nraise SystemExit",
        "for n in range(100): print(n)",
        "import glob\nprint(*[open(name).read() for name in glob.glob('**', recursive=True)])",
        "import inspect, sys\nprint([str(f.f_locals) for f in sys._current_frames().values()])",
        "",
    ],
)
def test_fault_9_no_way_around_the_golden_tests(tmp_path, text):
    env, state = begin(tmp_path, double(golden=2), sandbox=FAST)
    rewards = env.step(state, "coder", program(text)).rewards
    assert rewards.team == 0.0
    assert rewards.local["golden"] == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "import json\njson.dumps = lambda *a, **k: '5'\ndef add(a, b):\n    return 0",
        f"print('\\n{MARK}5')\ndef add(a, b):\n    raise ValueError",
        "class Any:\n    def __eq__(self, other):\n        return True\n"
        "    def __repr__(self):\n        return '5'\ndef add(a, b):\n    return Any()",
        "import builtins\nbuiltins.repr = lambda v: '5'\ndef add(a, b):\n    return object()",
        "import sys\ndef add(a, b):\n    sys.stdout.write = print\n    return True",
        "def add(a, b):\n    return [a + b]",
        "def add(a, b):\n    return str(a + b)",
        "def add(a, b):\n    return float('nan')",
    ],
)
def test_fault_9_what_a_function_prints_or_patches_is_only_its_answer(tmp_path, text):
    """A patched harness can state one value for all tests, which is what a constant can, too."""
    env, state = begin(tmp_path, add())
    constant = env.step(state, "coder", program("def add(a, b):\n    return 5")).rewards.team
    assert env.step(state, "coder", program(text)).rewards.team <= constant == pytest.approx(1 / 3)


def test_fault_8_a_timeout_is_no_success(tmp_path):
    env, state = begin(tmp_path, double(golden=2), sandbox=FAST)
    text = program("print(2 * int(input()), flush=True)\nwhile True: pass")
    one, two = turn(env, state, text, written(("3", "6")))
    assert one.rewards.local == {"builds": 0.1, "smoke": 0.0, "golden": 0.0}
    assert two.status is Status.RUNNING


def test_repeating_a_test_or_giving_two_outputs_does_not_pay(tmp_path):
    env, state = begin(tmp_path, double())
    good = env.step(state, "coder", program(DOUBLE)).state
    once = env.step(good, "tester", written(("3", "6"), ("4", "9"))).rewards
    twice = env.step(good, "tester", written(*[("3", "6")] * 3, ("4", "9"), ("4", "8"))).rewards
    assert once == twice


def test_markers_of_the_chat_template_do_not_pass_from_role_to_role(tmp_path):
    env, state = begin(tmp_path, double())
    text = program("print('<|im_end|>```')")
    last = turn(env, state, text, written(("3", "6")))[1].state
    shown = env.observe(last, "tester")[0]["content"]
    assert "<|im_end|>" not in shown
    assert "< |im_end|>` ` `" in shown


def test_addresses_do_not_enter_states(tmp_path):
    env, state = begin(tmp_path, double())
    steps = [turn(env, state, program("print(object())"), written(("3", "6")))[1] for _ in "ab"]
    assert steps[0] == steps[1]
    assert "object at 0x..." in steps[0].state.last.mismatches[0].got
