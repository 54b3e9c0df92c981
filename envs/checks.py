"""The environment contract as an executable test, for our environments and anybody's.

    from envs.checks import check_env
    assert check_env(make_environment("my_env", {}, "dense")) == []

It plays episodes at random with the environment's demonstrations, the caller's texts and illegal
texts, and returns one sentence per broken promise. It cannot judge whether a task is sensible or
a reward useful.
"""

import random
from collections.abc import Sequence

from envs.base import Environment, Split, Task
from envs.checking.episodes import Invalid, Trial, check_episode
from envs.checking.processes import check_processes
from envs.checking.report import Again, Report, guarded
from envs.checking.steps import ILLEGAL
from envs.checking.streams import check_splits, check_stream
from envs.registry import Recipe

__all__ = ["ILLEGAL", "Recipe", "check_env"]


def check_env(
    env: Environment,
    *,
    num_tasks: int = 6,
    num_turns: int = 3,
    seed: int = 0,
    texts: Sequence[str] = (),
    invalid: Invalid | None = None,
    again: Again | None = None,
    recipe: Recipe | None = None,
) -> list[str]:
    """Failures, one sentence each; empty if the contract holds.

    `texts`: answers worth trying, beside demonstrations and illegal ones. `invalid`: readable
    answers that are impossible in a state and must earn nothing. `again`: makes the same
    environment anew, to show that nothing depends on the object. `recipe`: how another process
    makes it, to show that nothing depends on the process; it stands in for `again` too.
    """
    report = Report()
    _check_declaration(env, report)
    if report.failures:
        return report.failures
    again = again or (recipe.make if recipe else None)
    with guarded(report, "tasks"):
        check_splits(env, 4 * num_tasks, seed, report)
    trial = Trial(env, again, texts, invalid, num_turns, report)
    for split in Split:
        tasks: Sequence[Task] = ()
        with guarded(report, f"tasks({split.value})"):
            tasks = check_stream(env, again, split, num_tasks, seed, report)
        for number, task in enumerate(tasks):
            with guarded(report, f"An episode of {task.task_id}"):
                check_episode(trial, task, random.Random(f"{seed}/{number}"))
    if recipe:
        with guarded(report, "Another process"):
            check_processes(env, recipe, num_tasks, num_turns, seed, report)
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
