"""Task streams: deterministic by seed, entered anywhere, never shared between splits.

A stream may end: then it either gives what there is, or raises ValueError that says how many tasks
there are.
"""

import json
from collections.abc import Sequence
from hashlib import sha256

from envs.base import Environment, Split, Task
from envs.checking.report import Again, Report, global_seed


def check_splits(env: Environment, num_tasks: int, seed: int, report: Report) -> None:
    """No content of one split in another, over two seeds each; no id for two contents."""
    owners: dict[str, str] = {}
    ids: dict[str, str] = {}
    for split in Split:
        for stream in (seed, seed + 1):
            for task in tasks_of(env, split, stream, 0, num_tasks, report):
                content = digest(task)
                owner = owners.setdefault(content, split.value)
                report.expect(
                    owner == split.value, f"Splits overlap: {owner} and {split.value} share a task."
                )
                known = ids.setdefault(task.task_id, content)
                report.expect(
                    known == content, f"task_id {task.task_id!r} is given to two different tasks."
                )
    report.expect(bool(ids), "No split has a task.")


def check_stream(
    env: Environment,
    again: Again | None,
    split: Split,
    num_tasks: int,
    seed: int,
    report: Report,
) -> Sequence[Task]:
    """Determinism by seed, and slices of the cursor that agree; the tasks."""
    with global_seed(1):
        tasks = tasks_of(env, split, seed, 0, num_tasks, report)
    with global_seed(2):
        same = tasks_of(again() if again else env, split, seed, 0, num_tasks, report)
    report.expect(
        list(tasks) == list(same), f"tasks({split.value}) differ between two calls with one seed."
    )
    half = len(tasks) // 2
    if half:
        tail = env.tasks(split, seed, half, len(tasks) - half)
        report.expect(
            list(tail) == list(tasks)[half:],
            f"tasks({split.value}, start={half}) is not the tail of tasks({split.value}, start=0).",
        )
    report.expect(
        all(task.split is split and task.seed == seed for task in tasks),
        f"tasks({split.value}) carry another split or seed than was asked for.",
    )
    return tasks


def tasks_of(
    env: Environment, split: Split, seed: int, start: int, count: int, report: Report
) -> Sequence[Task]:
    """The slice, or a shorter one where the stream ends before."""
    found, refused = _slice(env, split, seed, start, count, report)
    if 0 < len(found) < count and not refused:
        beyond, _ = _slice(env, split, seed, start + len(found), 1, report)
        report.expect(
            not beyond,
            f"tasks({split.value}) gave {len(found)} tasks, expected {count}, and yet there are "
            "more behind them.",
        )
    report.expect(
        len(found) <= count, f"tasks({split.value}) gave {len(found)} tasks, expected {count}."
    )
    return found


def digest(task: Task) -> str:
    """Of the task's content, as canonical JSON."""
    return sha256(json.dumps(task.payload, sort_keys=True).encode()).hexdigest()


def _slice(
    env: Environment, split: Split, seed: int, start: int, count: int, report: Report
) -> tuple[Sequence[Task], bool]:
    """As many as `count`; where a stream refuses, half of that and so on. And whether it did."""
    refused = False
    while count:
        try:
            return env.tasks(split, seed, start, count), refused
        except ValueError as error:
            report.expect(
                any(char.isdigit() for char in str(error)),
                f"tasks({split.value}) beyond the end does not say how many there are: {error}.",
            )
            refused, count = True, count // 2
    return [], True
