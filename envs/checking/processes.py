"""Determinism across processes: another interpreter, with other hashes, draws and judges alike.

What one process cannot see: the order of a set of strings, `hash()` of a text, object ids, the
process id and the time.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

from envs.base import Demonstrates, Environment, Order, Pictures, Split, State, Status, Task
from envs.checking.report import Report
from envs.checking.steps import ILLEGAL
from envs.checking.streams import tasks_of
from envs.registry import Recipe

LIMIT_S = 300.0
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
_START += "from envs.checking.processes import main; main()"


def check_processes(
    env: Environment, recipe: Recipe, num_tasks: int, num_turns: int, seed: int, report: Report
) -> None:
    """The transcript of some episodes, from this process and from a new one."""
    ours = json.loads(json.dumps(transcript(env, num_tasks, num_turns, seed)))
    asked = {"recipe": recipe._asdict(), "num_tasks": num_tasks, "num_turns": num_turns}
    theirs = json.loads(_elsewhere(json.dumps(asked | {"seed": seed})))
    for what in ours:
        report.expect(ours[what] == theirs[what], f"{what} differ in another process.")


def transcript(env: Environment, num_tasks: int, num_turns: int, seed: int) -> dict[str, Any]:
    """What an onlooker sees of a few episodes of demonstrations, by what it comes from."""
    seen: dict[str, Any] = {"tasks": [], "prompts": [], "demonstrations": [], "results of step": []}
    for split in Split:
        for task in tasks_of(env, split, seed, 0, num_tasks, Report()):
            seen["tasks"].append([task.task_id, task.payload])
            _play(env, task, num_turns, Random(f"{seed}/{task.task_id}"), seen)
    return seen


def main() -> None:
    """The other process: a question on the standard input, the transcript as its only answer."""
    asked = json.loads(sys.stdin.read())
    target = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an environment prints must not mix with the answer
    env = Recipe(**asked.pop("recipe")).make()
    target.write(json.dumps(transcript(env, **asked)))
    target.flush()


def _play(env: Environment, task: Task, num_turns: int, rng: Random, seen: dict[str, Any]) -> None:
    state = env.reset(task)
    for _ in range(num_turns):
        begun = state
        for role in env.roles:
            before = begun if env.order is Order.PARALLEL else state
            text = _text(env, before, role, rng, seen)
            result = env.step(state, role, text)
            after = None if result.status is Status.ERROR else env.encode_state(result.state)
            rewards = [result.rewards.team, dict(result.rewards.local)]
            seen["results of step"].append([rewards, result.status.value, after])
            if result.status is not Status.RUNNING:
                return
            state = result.state


def _text(env: Environment, state: State, role: str, rng: Random, seen: dict[str, Any]) -> str:
    seen["prompts"].append([message["content"] for message in env.observe(state, role)])
    if isinstance(env, Pictures):
        seen.setdefault("pictures", []).append(env.picture(state))
    if not isinstance(env, Demonstrates):
        return rng.choice(ILLEGAL)
    text = env.demonstrate(state, role, rng)
    seen["demonstrations"].append(text)
    return text


def _elsewhere(question: str) -> str:
    """The answer of an interpreter whose hashes of texts differ from ours."""
    command: Sequence[str] = [sys.executable, "-c", _START, json.dumps(sys.path)]
    seed = "1" if hash("rolewise") % 2 else "2"
    done = subprocess.run(
        command,
        input=question,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise RuntimeError(f"it ended with exit status {done.returncode}: {last}")
    return done.stdout
