"""Tasks, prompts and rewards that runs have been made with, pinned by digest."""

import hashlib
import json
from random import Random

import pytest

from envs.base import Split, Status
from tests.envs.plan_path.drawings import QUICKSTART, make_env

PINNED = [
    ({}, "dense", "5848d3c167bdd6fb"),
    ({"tool": "search"}, "outcome", "83133d2951d48968"),
    ({"action_language": "cells", "worked_example": True}, "dense", "75560ebae05e048b"),
    ({"roles": "planner"}, "dense", "c8d19ecb01bc58ef"),
    (QUICKSTART, "dense", "7c01bc78e4751055"),
    ({"prompt_style": "compact"}, "outcome", "0ec4afb6542cdd1e"),
]


@pytest.mark.parametrize(("options", "reward", "digest"), PINNED)
def test_episodes_are_pinned(options, reward, digest):
    """If this fails, what runs were made with has changed: raise the environment's version."""
    env, seen, rng = make_env(reward, **options), [], Random(0)
    assert env.version == "1"
    for split in Split:
        for task in env.tasks(split, 0, 0, 6):
            seen.append(task.payload)
            seen += episode(env, task, rng)
    text = json.dumps(seen, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def episode(env, task, rng):
    """Prompts, answers, states and rewards of three turns of demonstrations."""
    state, seen = env.reset(task), []
    for _ in range(3):
        for role in env.roles:
            prompt, text = env.observe(state, role), env.demonstrate(state, role, rng)
            state, rewards, status = env.step(state, role, text)
            seen += [prompt, text, env.encode_state(state)]
            seen += [rewards.team, dict(rewards.local), status.value]
        if status is not Status.RUNNING:
            break
    return seen
