"""Judging in several processes, for environments whose step takes long and is not batched.

`InWorkers` is the environment itself with one method more, `step_many`: results are those of
`step`, whatever the number of processes. A process costs about 0.2 s to start and 0.1 ms per text,
so cheap environments are judged where they are. Environments that run programs have a `step_many`
of their own and never come here.
"""

import json
import os
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, cast

from components.errors import RolewiseError
from envs.base import Attempt, Environment, Rewards, Status, StepResult
from envs.registry import Recipe

PAYS_FROM_S = 0.5
"""Workers are started where the rest of a batch would take longer than this in one process."""
CHEAP_S = 1e-3
"""A text that takes less is judged sooner than sent."""
TRIED = 16
"""Texts that are judged here to find out."""
_PIECES = 4
"""Pieces of a batch per process: the slow texts of one do not keep the others waiting."""
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
_START += "from components.env_execution.worker import main; main()"


def in_workers(env: Environment, recipe: Recipe, workers: int | Literal["auto"]) -> Environment:
    """The environment, with a `step_many` that shares batches among processes."""
    return cast(Environment, InWorkers(env, recipe, workers))


class InWorkers:
    """Everything but `step_many` is the environment's own."""

    def __init__(self, env: Environment, recipe: Recipe, workers: int | Literal["auto"]) -> None:
        self._env, self._recipe, self._workers = env, recipe, workers
        self._pool: _Pool | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """`step` of each, in order, and what it raises. RolewiseError if a worker dies."""
        results: list[StepResult] = []
        if self._workers == "auto" and self._pool is None:
            begun = time.perf_counter()
            results = [self._env.step(*attempt) for attempt in attempts[:TRIED]]
            each = (time.perf_counter() - begun) / TRIED
            rest = attempts[TRIED:]
            if each < CHEAP_S or each * len(rest) < PAYS_FROM_S:
                return results + [self._env.step(*attempt) for attempt in rest]
        self._pool = self._pool or _Pool(self._recipe, self._num_processes())
        return results + self._pool.judge(self._env, attempts[len(results) :])

    def _num_processes(self) -> int:
        return num_cores() if self._workers == "auto" else self._workers


def num_cores() -> int:
    """Cores that this process may use: its affinity, and its container's quota."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else max(1, min(cores, int(quota) // int(period)))


@dataclass
class _Pool:
    """Processes that stay until the environment is forgotten or this process ends."""

    recipe: Recipe
    size: int
    idle: "SimpleQueue[subprocess.Popen[str]]" = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        processes = [_start(self.recipe) for _ in range(self.size)]
        for process in processes:
            self.idle.put(process)
        weakref.finalize(self, _close, processes)

    def judge(self, env: Environment, attempts: Sequence[Attempt]) -> list[StepResult]:
        """Pieces of the batch to whoever is idle."""
        length = max(1, -(-len(attempts) // (self.size * _PIECES)))
        pieces = [attempts[at : at + length] for at in range(0, len(attempts), length)]
        with ThreadPoolExecutor(self.size) as threads:
            texts = list(threads.map(self._ask, [_question(env, piece) for piece in pieces]))
        return [
            result
            for piece, text in zip(pieces, texts, strict=True)
            for result in _results(env, piece, json.loads(text))
        ]

    def _ask(self, question: str) -> str:
        process = self.idle.get()
        try:
            assert process.stdin and process.stdout
            process.stdin.write(question)
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            self.idle.put(process)
        if not answer:
            raise RolewiseError(
                f"a worker of environment {self.recipe.name!r} ended with exit status "
                f"{process.wait()} while it judged, see its output above; expected results (is "
                "there memory for rollout.env_workers processes? 1 judges without any)"
            )
        return answer


def _start(recipe: Recipe) -> "subprocess.Popen[str]":
    """A new interpreter: nothing of this process's threads or accelerators is inherited."""
    process = subprocess.Popen(
        [sys.executable, "-c", _START, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    process.stdin.write(json.dumps(recipe._asdict()) + "\n")
    process.stdin.flush()
    return process


def _close(processes: Sequence["subprocess.Popen[str]"]) -> None:
    """They end when their input does."""
    for process in processes:
        try:
            process.communicate(timeout=5.0)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            process.kill()
            process.communicate()


def _question(env: Environment, attempts: Sequence[Attempt]) -> str:
    positions: dict[int, int] = {}
    states: list[Any] = []
    for attempt in attempts:
        if id(attempt.state) not in positions:
            positions[id(attempt.state)] = len(states)
            states.append(env.encode_state(attempt.state))
    items = [[positions[id(item.state)], item.role, item.completion] for item in attempts]
    return json.dumps({"states": states, "attempts": items}) + "\n"


def _results(env: Environment, attempts: Sequence[Attempt], answer: Any) -> list[StepResult]:
    if "failed" in answer:
        attempt = attempts[answer["failed"]]
        env.step(*attempt)
        raise RolewiseError(
            f"environment {env.name!r}: step of {attempt.role} raised in a worker process and not "
            "here, expected one outcome for one text; `python -m envs check` says more"
        )
    states = [env.decode_state(json.loads(text)) for text in answer["states"]]
    return [
        StepResult(None if state is None else states[state], Rewards(team, local), Status(status))
        for state, team, local, status in answer["results"]
    ]
