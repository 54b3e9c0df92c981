"""The environment contract as an executable test, for our environments and anybody's.

    from envs.checks import check_env
    assert check_env(make_environment("my_env", {}, "dense")) == []

It plays episodes at random with the environment's demonstrations, the caller's texts and illegal
texts, and returns one sentence per broken promise. It cannot judge whether a task is sensible or
a reward useful.
"""

import json
import random
from collections.abc import Callable, Sequence
from hashlib import sha256

from envs.base import Environment, Split, Task
from envs.check_play import ILLEGAL, Report, check_episode, global_seed, guarded

__all__ = ["ILLEGAL", "check_env"]


def check_env(
    env: Environment,
    *,
    num_tasks: int = 6,
    num_turns: int = 3,
    seed: int = 0,
    texts: Sequence[str] = (),
    again: Callable[[], Environment] | None = None,
) -> list[str]:
    """Failures, one sentence each; empty if the contract holds.

    `texts`: answers worth trying, beside demonstrations and illegal ones. `again`: makes the same
    environment anew, to show that nothing depends on the object.
    """
    report = Report()
    _check_declaration(env, report)
    if report.failures:
        return report.failures
    with guarded(report, "tasks"):
        _check_splits(env, num_tasks, seed, report)
    for split in Split:
        tasks: Sequence[Task] = ()
        with guarded(report, f"tasks({split.value})"):
            tasks = _check_stream(env, again, split, num_tasks, seed, report)
        for number, task in enumerate(tasks):
            rng = random.Random(f"{seed}/{number}")
            with guarded(report, f"An episode of {task.task_id}"):
                check_episode(env, again, task, num_turns, rng, texts, report)
    return report.failures


def _check_declaration(env: Environment, report: Report) -> None:
    presets, roles = env.reward_presets, list(env.roles)
    report.expect(bool(env.name) and bool(env.version), "name and version must not be empty.")
    report.expect(bool(roles), "roles is empty; an environment needs at least one role.")
    report.expect(len(set(roles)) == len(roles), f"roles {roles} names a role twice.")
    report.expect(
        env.reward in presets,
        f"reward is {env.reward!r}, which is none of the presets {sorted(presets)}.",
    )
    for name, preset in presets.items():
        strangers = sorted(set(preset.local) - set(roles))
        report.expect(not strangers, f"preset {name} declares parts of unknown roles {strangers}.")
        bounds = {"team": preset.team}
        for role, parts in preset.local.items():
            bounds |= {f"{role}/{part}": interval for part, interval in parts.items()}
        for part, interval in bounds.items():
            report.expect(
                -1.0 <= interval.low <= interval.high <= 1.0,
                f"preset {name}, {part}: bounds [{interval.low}, {interval.high}] are not an "
                "interval inside [-1, 1].",
            )


def _check_splits(env: Environment, num_tasks: int, seed: int, report: Report) -> None:
    """No content of one split in another, over two seeds each."""
    owners: dict[str, str] = {}
    ids: dict[str, str] = {}
    for split in Split:
        for stream in (seed, seed + 1):
            for task in _tasks(env, split, stream, 0, 4 * num_tasks, report):
                text = json.dumps(task.payload, sort_keys=True)
                content = sha256(text.encode()).hexdigest()
                owner = owners.setdefault(content, split.value)
                report.expect(
                    owner == split.value, f"Splits overlap: {owner} and {split.value} share a task."
                )
                known = ids.setdefault(task.task_id, content)
                report.expect(
                    known == content, f"task_id {task.task_id!r} is given to two different tasks."
                )


def _check_stream(
    env: Environment,
    again: Callable[[], Environment] | None,
    split: Split,
    num_tasks: int,
    seed: int,
    report: Report,
) -> Sequence[Task]:
    """Determinism by seed, and slices of the cursor that agree."""
    with global_seed(1):
        tasks = _tasks(env, split, seed, 0, num_tasks, report)
    with global_seed(2):
        same = _tasks(again() if again else env, split, seed, 0, num_tasks, report)
    report.expect(
        list(tasks) == list(same), f"tasks({split.value}) differ between two calls with one seed."
    )
    half = num_tasks // 2
    tail = _tasks(env, split, seed, half, num_tasks - half, report)
    report.expect(
        list(tail) == list(tasks)[half:],
        f"tasks({split.value}, start={half}) is not the tail of tasks({split.value}, start=0).",
    )
    report.expect(
        all(task.split is split and task.seed == seed for task in tasks),
        f"tasks({split.value}) carry another split or seed than was asked for.",
    )
    return tasks


def _tasks(
    env: Environment, split: Split, seed: int, start: int, count: int, report: Report
) -> Sequence[Task]:
    """The slice, which must be as long as was asked for."""
    found = env.tasks(split, seed, start, count)
    report.expect(
        len(found) == count, f"tasks({split.value}) gave {len(found)} tasks, expected {count}."
    )
    return found
