"""Sokoban without a model: turns a second, steps beside gym-sokoban, levels a second.

A turn is one role's prompt with one answer parsed, executed and rewarded. A step is one move,
through the same text interface, with what it shows: our grid as text, gym-sokoban's picture.
10,000 scored candidates are bench_scoring's.
"""

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from envs.base import Environment, Split, Status
from envs.registry import make_environment
from tests.benchmarks.harness import Row, row, unmeasured
from tests.envs.sokoban.drawings import TINY

TURNS_GOAL, STEPS_GOAL = 16_000.0, 100.0
"""Turns a second: five times the 3.2k of a public implementation on a busy core of this kind."""
NUM_TASKS, REPEATS = 400, 5
BEST = {"shortest": 1.0, "start": 0.0, "copy_route": 1.0, "copy_start": 0.0, "all_walls": 1.0,
        "no_walls": 0.0, "some_walls": 0.0}  # fmt: skip
TEAMS: Mapping[str, tuple[float | None, Mapping[str, Any]]] = {
    "team, moves": (1.0, {}),
    "single agent": (1.0, {"roles": "planner"}),
    "tiny models' team, whose programs search": (None, TINY),
}
"""name -> (least ratio, options)."""
VENV = Path("build/gym-sokoban-venv")
NEEDED = ("gym-sokoban==0.0.6", "gym==0.26.2", "numpy==1.26.4", "setuptools==80.9.0")


def rows() -> list[Row]:
    """Turns against a goal, steps against gym-sokoban, levels without a goal."""
    found = []
    for name, (goal, options) in TEAMS.items():
        env = make_environment("sokoban", {**options, "demonstrations": BEST}, "dense")
        ours = max(turns_per_second(env, repeat) for repeat in range(REPEATS))
        note = "a goal of our own: 5x a public 3.2k"
        found.append(row(f"sokoban 6x6, turns, {name}", ours, TURNS_GOAL, goal, "/CPU s", note,
                         higher_is_better=True))  # fmt: skip
    return [*found, *step_rows(), *level_rows()]


def turns_per_second(env: Environment, seed: int) -> float:
    """One turn of each role with a right answer, so with the longest walks; every level is new."""
    turns, seconds = 0, 0.0
    for task in env.tasks(Split.TRAIN, seed, 0, NUM_TASKS):
        state = env.reset(task)
        for role in env.roles:
            text = env.demonstrate(state, role, Random(0))  # type: ignore[attr-defined]
            began = time.process_time()
            env.observe(state, role)
            state = env.step(state, role, text).state
            seconds += time.process_time() - began
            turns += 1
    return turns / seconds


def step_rows() -> list[Row]:
    """Both take turns, and the best of each counts."""
    goals = {"rgb_array": STEPS_GOAL, "tiny_rgb_array": None}
    names = {mode: f"sokoban 6x6, one move and what is seen, gym's {mode}" for mode in goals}
    try:
        with theirs() as ask:
            pairs = [(steps_per_second(repeat), {mode: ask(mode) for mode in goals})
                     for repeat in range(REPEATS)]  # fmt: skip
    except (RuntimeError, OSError) as error:
        return [unmeasured(names[mode], goal, str(error)) for mode, goal in goals.items()]
    ours = max(rate for rate, _ in pairs)
    return [
        row(names[mode], ours, max(rates[mode] for _, rates in pairs), goal, "/CPU s",
            "gym-sokoban 0.0.6, its step alone; its default is rgb_array", higher_is_better=True)
        for mode, goal in goals.items()
    ]  # fmt: skip


def steps_per_second(seed: int) -> float:
    """Random moves, one a call, as the answers of a single agent."""
    env, rng, steps = make_environment("sokoban", {"roles": "planner"}, "dense"), Random(seed), 0
    states = [env.reset(task) for task in env.tasks(Split.TRAIN, seed, 0, NUM_TASKS)]
    began = time.process_time()
    for state in states:
        for _ in range(10):
            result = env.step(state, "planner", rng.choice("UDLR"))
            env.picture(result.state)  # type: ignore[attr-defined]
            steps += 1
            if result.status is not Status.RUNNING:
                break
            state = result.state
    return steps / (time.process_time() - began)


def level_rows() -> list[Row]:
    """Levels made and checked by the solver."""
    found = []
    for name, count, options in (("6x6, 1 box", 500, {}), ("7x7, 2 boxes", 200, {
        "height": 7, "width": 7, "num_boxes": 2})):  # fmt: skip
        env, began = make_environment("sokoban", options, "dense"), time.process_time()
        env.tasks(Split.TRAIN, 99, 0, count)
        rate = count / (time.process_time() - began)
        found.append(Row(name=f"sokoban {name}, levels made", ours=rate, other=None,
                         unit="/CPU s", ratio=None, goal=None, met=None,
                         note="reverse play, each solved again"))  # fmt: skip
    return found


@contextmanager
def theirs() -> Iterator[Callable[[str], float]]:
    """Asks gym-sokoban, in a process of its own environment, for its steps a second in a mode."""
    script = Path(__file__).with_name("gym_sokoban_steps.py")
    command = [str(ensure()), "-W", "ignore", str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        assert process.stdin and process.stdout and process.stderr
        pipe, answers, errors = process.stdin, process.stdout, process.stderr

        def ask(mode: str) -> float:
            try:
                print(mode, file=pipe, flush=True)
                return float(answers.readline())
            except (OSError, ValueError) as error:
                last = errors.read().strip().splitlines() or ["it ended"]
                raise RuntimeError(f"gym-sokoban failed: {last[-1]}") from error

        yield ask
        pipe.close()


def ensure() -> Path:
    """The interpreter beside gym-sokoban; made if it is missing or out of date.

    RuntimeError with pip's last line if a package cannot be installed.
    """
    python, stamp = VENV / "bin" / "python", VENV / "stamp"
    digest = hashlib.sha256("\n".join([sys.version, *NEEDED]).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return python.absolute()
    print(f"making {VENV}: {', '.join(NEEDED)} ...", flush=True)
    pip = ["-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    for arguments in (["-m", "venv", "--clear", "--without-pip", str(VENV)],
                      [*pip, "install", "--quiet", *NEEDED]):  # fmt: skip
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
        if done.returncode:
            last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise RuntimeError(f"{arguments[1]} failed: {(last or [done.stderr])[-1]}")
    stamp.write_text(digest)
    return python.absolute()
