"""Playing an episode at random and looking at everything on the way: states, prompts, pictures.

Like the turn loop: in parallel order all roles write from the state at the start of the turn.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs.base import (
    Attempt,
    Demonstrates,
    Environment,
    HasLexicon,
    Order,
    Pictures,
    State,
    Status,
    StepResult,
    Task,
)
from envs.checking.report import Again, Report, global_seed, same_state
from envs.checking.steps import ILLEGAL, check_batch, check_illegal, check_invalid, check_step

BATCH = 12
"""Answers of one episode that are also judged together."""
Invalid = Callable[[State, str], Sequence[str]]
"""(state, role) -> readable answers that are impossible in it."""


@dataclass(frozen=True)
class Trial:
    """What an environment is tried with."""

    env: Environment
    again: Again | None
    texts: Sequence[str]
    invalid: Invalid | None
    num_turns: int
    report: Report


def check_episode(trial: Trial, task: Task, rng: random.Random) -> None:
    """One episode of demonstrations and the caller's texts, one of nonsense alone."""
    env, report = trial.env, trial.report
    state = env.reset(task)
    parsed = Task(task.task_id, task.split, task.seed, json.loads(json.dumps(task.payload)))
    report.expect(
        same_state(env, env.reset(parsed), state),
        "reset differs for a payload that went through JSON.",
    )
    judged: list[tuple[Attempt, StepResult]] = []
    _play(trial, state, rng, judged)
    check_batch(env, judged[:BATCH], report)
    _play_nonsense(trial, env.reset(task), rng)


def _play(
    trial: Trial, state: State, rng: random.Random, judged: list[tuple[Attempt, StepResult]]
) -> None:
    for _ in range(trial.num_turns):
        begun = state
        for role in trial.env.roles:
            seen = begun if trial.env.order is Order.PARALLEL else state
            check_state(trial.env, seen, role, trial.report)
            _check_refused(trial, state, role, rng, judged)
            text = _some_text(trial, seen, role, rng)
            result = check_step(trial.env, trial.again, state, role, text, trial.report)
            if result is None:
                return
            judged.append((Attempt(state, role, text), result))
            if result.status is not Status.RUNNING:
                check_picture(trial.env, result.state, result.status, trial.report)
                return
            state = result.state


def _check_refused(
    trial: Trial,
    state: State,
    role: str,
    rng: random.Random,
    judged: list[tuple[Attempt, StepResult]],
) -> None:
    """Illegal texts and the environment's own invalid moves, none of which is executed."""
    for text in rng.sample(ILLEGAL, 4):
        result = check_illegal(trial.env, state, role, text, trial.report)
        if result is not None and len(text) < 100:
            judged.append((Attempt(state, role, text), result))
    for text in trial.invalid(state, role) if trial.invalid else ():
        check_invalid(trial.env, state, role, text, trial.report)


def _play_nonsense(trial: Trial, state: State, rng: random.Random) -> None:
    """Whoever waits for the turns to run out with illegal texts wins nothing, and what the texts
    leave in the states and prompts is as sound as anything."""
    for _ in range(trial.num_turns):
        begun = state
        for role in trial.env.roles:
            seen = begun if trial.env.order is Order.PARALLEL else state
            check_state(trial.env, seen, role, trial.report)
            result = check_illegal(trial.env, state, role, rng.choice(ILLEGAL), trial.report)
            if result is None or result.status is not Status.RUNNING:
                return
            state = result.state


def check_state(env: Environment, state: State, role: str, report: Report) -> None:
    """JSON round trip; prompts that are pure, not empty and inside the lexicon; pure pictures."""
    encoded = json.dumps(env.encode_state(state), sort_keys=True)
    decoded = env.decode_state(json.loads(encoded))
    report.expect(
        bool(decoded == state),
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
    report.expect(
        env.observe(decoded, role) == messages,
        f"observe of {role} differs for a state that went through JSON.",
    )
    _check_words(env, " ".join(message["content"] for message in messages), "A prompt", report)
    check_picture(env, state, Status.RUNNING, report)


def check_picture(env: Environment, state: State, status: Status, report: Report) -> None:
    """Where there are pictures, every state has one, and looking changes nothing."""
    if not isinstance(env, Pictures) or status is Status.ERROR:
        return
    encoded = json.dumps(env.encode_state(state), sort_keys=True)
    picture = env.picture(state)
    report.expect(
        isinstance(picture, str) and bool(picture.strip()),
        f"picture of a state ({status.value}) is empty.",
    )
    with global_seed(6):
        same = env.picture(env.decode_state(json.loads(encoded)))
    report.expect(same == picture, "picture differs between two calls.")
    report.expect(
        json.dumps(env.encode_state(state), sort_keys=True) == encoded, "picture changes the state."
    )


def _some_text(trial: Trial, state: State, role: str, rng: random.Random) -> str:
    env, texts = trial.env, trial.texts
    if isinstance(env, Demonstrates) and (not texts or rng.random() < 0.6):
        draw = rng.random()
        text = env.demonstrate(state, role, random.Random(draw))
        with global_seed(7):
            same = env.demonstrate(state, role, random.Random(draw))
        trial.report.expect(
            text == same, f"demonstrate of {role} gives two texts for one generator."
        )
        _check_words(env, text, f"A demonstration of {role}", trial.report)
        return text
    return rng.choice([*texts, *ILLEGAL]) if texts else rng.choice(ILLEGAL)


def _check_words(env: Environment, text: str, what: str, report: Report) -> None:
    if isinstance(env, HasLexicon):
        strangers = sorted(set(text.split()) - set(env.lexicon()))[:3]
        report.expect(not strangers, f"{what} has words outside the lexicon: {strangers}.")
