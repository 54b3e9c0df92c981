"""What `check_env` looks at while it plays an episode: states, prompts, illegal text, steps."""

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from envs.base import (
    Demonstrates,
    Environment,
    HasLexicon,
    Rewards,
    State,
    Status,
    StepResult,
    Task,
)

ILLEGAL = (
    "", " \n\t ", "?!", "I cannot do that.", "\x00\x07", "日本語 🚀 \u202e", "\ud800", "[[[[", "[]",
    "```", "{'a': __import__('os')}", "-1 1e999 nan", "<|im_end|>", "</think>", "x" * 100_000,
    "[" + "?," * 50_000 + "]",
)  # fmt: skip
"""Texts that are no answer in any environment."""
_TOLERANCE = 1e-9


@dataclass
class Report:
    """Failures found so far; equal sentences count once."""

    failures: list[str] = field(default_factory=list)

    def expect(self, holds: bool, sentence: str) -> None:
        """Record the sentence unless the promise holds."""
        if not holds and sentence not in self.failures:
            self.failures.append(sentence)


@contextmanager
def guarded(report: Report, where: str) -> Iterator[None]:
    """An exception inside becomes a failure: the check goes on elsewhere."""
    try:
        yield
    except Exception as error:  # whatever a broken environment raises is its failure
        report.expect(False, f"{where} raises {type(error).__name__}: {error}.")


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Python's global generator in a known state, so that a use of it shows."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def check_episode(
    env: Environment,
    again: Callable[[], Environment] | None,
    task: Task,
    num_turns: int,
    rng: random.Random,
    texts: Sequence[str],
    report: Report,
) -> None:
    """Play one episode at random; judge everything that is seen on the way."""
    state = env.reset(task)
    parsed = Task(task.task_id, task.split, task.seed, json.loads(json.dumps(task.payload)))
    report.expect(
        _same(env, env.reset(parsed), state), "reset differs for a payload that went through JSON."
    )
    for _ in range(num_turns):
        for role in env.roles:
            _check_state(env, state, role, report)
            for text in rng.sample(ILLEGAL, 4):
                _check_illegal(env, state, role, text, report)
            text = _some_text(env, state, role, rng, texts, report)
            result = _check_step(env, again, state, role, text, report)
            if result is None or result.status is not Status.RUNNING:
                return
            state = result.state


def _check_state(env: Environment, state: State, role: str, report: Report) -> None:
    """JSON round trip; prompts that are pure, not empty and inside the lexicon."""
    encoded = json.dumps(env.encode_state(state), sort_keys=True)
    report.expect(
        bool(env.decode_state(json.loads(encoded)) == state),
        "decode_state(encode_state(state)) differs from the state after JSON.",
    )
    messages = env.observe(state, role)
    report.expect(
        bool(messages) and all(message["content"].strip() for message in messages),
        f"observe gives {role} no messages, or an empty one.",
    )
    with global_seed(3):
        report.expect(
            env.observe(state, role) == messages, f"observe of {role} differs between two calls."
        )
    report.expect(
        json.dumps(env.encode_state(state), sort_keys=True) == encoded,
        f"observe of {role} changes the state.",
    )
    _check_words(env, " ".join(message["content"] for message in messages), "A prompt", report)


def _check_illegal(env: Environment, state: State, role: str, text: str, report: Report) -> None:
    """Illegal text is an outcome: it neither raises nor pays nor solves."""
    shown = repr(text[:20])
    with guarded(report, f"step of {role} on the illegal text {shown}"):
        result = env.step(state, role, text)
        _judge_illegal(env, role, shown, result, report)


def _judge_illegal(
    env: Environment, role: str, shown: str, result: StepResult, report: Report
) -> None:
    report.expect(
        result.status not in (Status.SOLVED, Status.ERROR),
        f"Illegal text {shown} of {role} has the status {result.status.value}.",
    )
    parts = (result.rewards.team, *result.rewards.local.values())
    report.expect(
        max(parts) <= _TOLERANCE, f"Illegal text {shown} of {role} earns {max(parts):g}, above 0."
    )
    _check_rewards(env, role, result.rewards, report)


def _check_step(
    env: Environment,
    again: Callable[[], Environment] | None,
    state: State,
    role: str,
    text: str,
    report: Report,
) -> StepResult | None:
    before = json.dumps(env.encode_state(state), sort_keys=True)
    with global_seed(4):
        result = env.step(state, role, text)
    after = json.dumps(env.encode_state(state), sort_keys=True)
    report.expect(after == before, f"step of {role} changes the state that it was given.")
    if after != before:
        return None
    with global_seed(5):
        same = (again() if again else env).step(state, role, text)
    report.expect(
        same.rewards == result.rewards
        and same.status is result.status
        and _same(env, same.state, result.state),
        f"step of {role} gives two results for one text.",
    )
    report.expect(
        result.status is not Status.OUT_OF_TURNS,
        f"step of {role} returns the status out_of_turns, which is the turn loop's.",
    )
    report.expect(
        result.status is Status.SOLVED or result.status is Status.RUNNING
        or result.rewards.team < max(env.reward_presets[env.reward].team.high, _TOLERANCE),
        f"step of {role} gives the full team reward with the status {result.status.value}; "
        "only solved is success.",
    )  # fmt: skip
    _check_rewards(env, role, result.rewards, report)
    return result


def _check_rewards(env: Environment, role: str, rewards: Rewards, report: Report) -> None:
    """Exactly the declared parts, each finite and within its bounds."""
    preset = env.reward_presets[env.reward]
    declared = preset.local.get(role, {})
    report.expect(
        set(rewards.local) == set(declared),
        f"{role} has the reward parts {sorted(rewards.local)}, the preset {env.reward} declares "
        f"{sorted(declared)}.",
    )
    named = [("team", rewards.team, preset.team)]
    named += [(part, value, declared[part]) for part, value in rewards.local.items()
              if part in declared]  # fmt: skip
    for part, value, bounds in named:
        report.expect(
            math.isfinite(value) and bounds.low - _TOLERANCE <= value <= bounds.high + _TOLERANCE,
            f"{role}'s reward part {part} leaves its bounds [{bounds.low:g}, {bounds.high:g}].",
        )


def _some_text(
    env: Environment,
    state: State,
    role: str,
    rng: random.Random,
    texts: Sequence[str],
    report: Report,
) -> str:
    if isinstance(env, Demonstrates) and (not texts or rng.random() < 0.6):
        draw = rng.random()
        text = env.demonstrate(state, role, random.Random(draw))
        report.expect(
            text == env.demonstrate(state, role, random.Random(draw)),
            f"demonstrate of {role} gives two texts for one generator.",
        )
        _check_words(env, text, f"A demonstration of {role}", report)
        return text
    return rng.choice([*texts, *ILLEGAL]) if texts else rng.choice(ILLEGAL)


def _check_words(env: Environment, text: str, what: str, report: Report) -> None:
    if isinstance(env, HasLexicon):
        strangers = sorted(set(text.split()) - set(env.lexicon()))[:3]
        report.expect(not strangers, f"{what} has words outside the lexicon: {strangers}.")


def _same(env: Environment, one: State, other: State) -> bool:
    return bool(one == other) and env.encode_state(one) == env.encode_state(other)
