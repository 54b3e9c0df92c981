"""10,000 candidates scored by Sokoban: time and peak memory, in one process and on all cores.

`advance` is measured as the turn loop calls it: 1,250 levels of 6x6, 8 answers each. Every way has
a process of its own, so that peak memory is its own.
"""

import json
import resource
import subprocess
import sys
import time
from random import Random
from typing import Literal

from components.env_execution.advance import advance
from components.env_execution.frontier import prompts, start
from components.env_execution.rules import Rules
from components.env_execution.workers import in_workers, num_cores
from components.process import peak_memory_mib
from envs.base import Split
from envs.registry import Recipe, make_environment
from tests.benchmarks.harness import Row, row
from tests.doubles.rows import make_candidate

ENVIRONMENT = "sokoban"
NUM_TASKS, NUM_CANDIDATES = 1_250, 8
REPEATS = 3
"""The second and third find the processes started; the least counts."""


def rows() -> list[Row]:
    """As it is configured by default, where so cheap a step starts no process, beside a process on
    every core."""
    cores = num_cores()
    usual, forced = measured("auto"), measured(str(cores))
    name = f"{NUM_TASKS * NUM_CANDIDATES:,} candidates scored by {ENVIRONMENT}"
    rates = f"{usual['per_s']:,.0f} and {forced['per_s']:,.0f} candidates/s"
    note = f"env_workers auto, beside {cores} processes: {rates}"
    return [
        row(name, usual["s"], forced["s"], None, "s", note),
        row(f"{name}, peak memory", usual["mib"], forced["mib"], None, "MiB", "peaks added up"),
    ]


def measured(workers: str) -> dict[str, float]:
    """The figures of one way, from a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_scoring", workers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def score(workers: int | Literal["auto"]) -> dict[str, float]:
    """Score the candidates with this `rollout.env_workers`."""
    env = make_environment(ENVIRONMENT, {}, "dense")
    rules = Rules({role: role for role in env.roles}, NUM_CANDIDATES, num_turns=4)
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, NUM_TASKS), rules)
    rng = Random(0)
    candidates = [
        make_candidate(turn, index, env.demonstrate(node.state, turn.role, rng))  # type: ignore[attr-defined]
        for node, turn in zip(frontier.nodes, prompts(env, frontier, rules), strict=True)
        for index in range(NUM_CANDIDATES)
    ]
    judging = in_workers(env, Recipe(ENVIRONMENT, {}, "dense"), workers)
    spent = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        advance(judging, frontier, candidates, rules)
        spent.append(time.perf_counter() - begun)
    del judging  # its processes end and are counted
    return {"s": min(spent), "per_s": len(candidates) / min(spent), "mib": _peak_mib(workers)}


def _peak_mib(workers: int | Literal["auto"]) -> float:
    """Upper bound: this process, and as many as the largest child as there are workers."""
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return peak_memory_mib() + child * (0 if workers == "auto" else workers - 1)


if __name__ == "__main__":
    print(json.dumps(score("auto" if sys.argv[1] == "auto" else int(sys.argv[1]))))
