"""Plan-Path without a model: an agent's turn (prompt, answer parsed, executed, rewarded)."""

import time
from collections.abc import Mapping
from random import Random
from typing import Any

from envs.base import Environment, Split
from envs.registry import make_environment
from tests.benchmarks.harness import Row, row

GOAL = 16_000.0
"""Turns a second: five times the 3.2k of a public implementation on a busy core of this kind."""
NUM_TASKS, REPEATS = 400, 5
DEMONSTRATIONS = {"shortest": 1.0, "straight": 0.0, "copy_route": 1.0, "copy_straight": 0.0}
TEAMS: Mapping[str, Mapping[str, Any]] = {
    "team, moves": {},
    "team, cells": {"action_language": "cells"},
    "single agent": {"roles": "planner"},
}


def rows() -> list[Row]:
    """Turns per CPU second on 10x10 grids, every grid a new one."""
    found = []
    for name, options in TEAMS.items():
        env = make_environment("plan_path", {**options, "demonstrations": DEMONSTRATIONS}, "dense")
        ours = max(turns_per_second(env, repeat) for repeat in range(REPEATS))
        title, note = f"plan_path 10x10, turns, {name}", "a goal of our own: 5x a public 3.2k"
        found.append(row(title, ours, GOAL, 1.0, "/CPU s", note, higher_is_better=True))
    return found


def turns_per_second(env: Environment, seed: int) -> float:
    """One turn of each role with a right answer, so with the longest walks; reset is included."""
    turns, seconds = 0, 0.0
    for task in env.tasks(Split.TRAIN, seed, 0, NUM_TASKS):
        began = time.process_time()
        state = env.reset(task)
        seconds += time.process_time() - began
        for role in env.roles:
            text = env.demonstrate(state, role, Random(0))  # type: ignore[attr-defined]
            began = time.process_time()
            env.observe(state, role)
            state = env.step(state, role, text).state
            seconds += time.process_time() - began
            turns += 1
    return turns / seconds
