"""Whether the environment opens, has enough tasks, and writes prompts that fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.config import ExperimentConfig
from components.env_execution.rules import (
    evaluation_tasks,
    open_benchmark,
    open_environment,
    training_tasks,
)
from components.preflight.findings import Finding, ok, warn
from envs.base import Environment, HasLexicon, Split

NUM_SHOWN = 16
"""Training tasks whose first prompts are looked at."""


@dataclass(frozen=True)
class Language:
    """What policies must be able to read."""

    prompts: Sequence[str]
    words: int
    """Size of the closed set of words; 0 if it is open."""


def language_of(config: ExperimentConfig) -> Language:
    """The first prompts of every role."""
    env = open_environment(config)
    states = [env.reset(task) for task in training_tasks(env, config, 0)[:NUM_SHOWN]]
    prompts = [
        message["content"]
        for state in states
        for role in env.roles
        for message in env.observe(state, role)
    ]
    return Language(prompts, len(env.lexicon()) if isinstance(env, HasLexicon) else 0)


def check_environment(config: ExperimentConfig) -> Iterator[Finding]:
    """Roles, and the tasks of all splits and benchmarks, drawn as the run will draw them."""
    env = open_environment(config)
    roles = ", ".join(f"{role} = {config.roles[role]}" for role in env.roles)
    yield ok("environment", f"{env.name} {env.version}, {env.order.value}: {roles}")
    drawn = training_tasks(env, config, 0)
    yield _counted("training tasks", len(drawn), config.rollout.num_tasks, "rollout.num_tasks")
    splits = [Split.VALIDATION, *([Split.TEST] if config.evaluation.test else [])]
    for split in splits:
        yield _held_out(env, split.value, split, config.evaluation.num_tasks)
    for name, chosen in config.evaluation.benchmarks.items():
        bench = open_benchmark(config, name)
        yield _held_out(bench, f"benchmark {name}", Split(chosen.split), chosen.num_tasks)


def _held_out(env: Environment, subject: str, split: Split, count: int) -> Finding:
    found = len(evaluation_tasks(env, split, count))
    return _counted(f"{subject} tasks", found, count, "num_tasks")


def _counted(subject: str, found: int, wanted: int, field: str) -> Finding:
    if found >= wanted:
        return ok(subject, f"{found} drawn")
    return warn(subject, f"{found} of {wanted} exist", f"lower {field}, or add tasks")
