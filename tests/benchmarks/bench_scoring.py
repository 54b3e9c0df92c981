"""10,000 candidates scored by Sokoban: time and peak memory, in one process and on all cores.

`advance` is measured as the turn loop calls it: 1,250 levels of 6x6, 8 answers each. Every way has
a process of its own, so that peak memory is its own.
"""

import json
import subprocess
import sys
import time
from random import Random

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
    """Seconds of both ways, and the memory of the second."""
    cores = num_cores()
    alone, shared = measured(1), measured(cores)
    name = f"{NUM_TASKS * NUM_CANDIDATES:,} candidates scored by {ENVIRONMENT}"
    note = f"{alone['per_s']:,.0f} and {shared['per_s']:,.0f} candidates/s"
    return [
        row(f"{name}, {cores} processes", shared["s"], alone["s"], None, "s", f"one: {note}"),
        Row(
            name=f"{name}, peak memory", ours=alone["mib"], other=shared["mib"], unit="MiB",
            ratio=None, goal=None, met=None, note=f"one; {cores} workers, peaks added",
        ),
    ]  # fmt: skip


def measured(workers: int) -> dict[str, float]:
    """The figures of one way, from a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_scoring", str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def score(workers: int) -> dict[str, float]:
    """Score the candidates in this process, or in that many others."""
    env = make_environment(ENVIRONMENT, {}, "dense")
    rules = Rules({role: role for role in env.roles}, NUM_CANDIDATES, num_turns=4)
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, NUM_TASKS), rules)
    rng = Random(0)
    candidates = [
        make_candidate(turn, index, env.demonstrate(node.state, turn.role, rng))  # type: ignore[attr-defined]
        for node, turn in zip(frontier.nodes, prompts(env, frontier, rules), strict=True)
        for index in range(NUM_CANDIDATES)
    ]
    judging = in_workers(env, Recipe(ENVIRONMENT, {}, "dense"), workers) if workers > 1 else env
    spent = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        advance(judging, frontier, candidates, rules)
        spent.append(time.perf_counter() - begun)
    del judging  # its processes end and are counted
    return {"s": min(spent), "per_s": len(candidates) / min(spent), "mib": _peak_mib(workers)}


def _peak_mib(workers: int) -> float:
    """Upper bound: this process, and as many as the largest child as there are workers."""
    import resource

    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return peak_memory_mib() + child * (workers - 1 if workers > 1 else 0)


if __name__ == "__main__":
    print(json.dumps(score(int(sys.argv[1]))))
