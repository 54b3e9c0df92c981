"""Whether the environments open, have enough tasks, and write prompts that fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.config import ExperimentConfig
from components.env_execution.environments import (
    evaluation_tasks,
    open_benchmark,
    open_environments,
    training_tasks,
)
from components.members import Member, parts_of
from components.preflight.findings import Finding, ok, warn
from envs.base import HasLexicon, Split

NUM_SHOWN = 16
"""Training tasks whose first prompts are looked at."""


@dataclass(frozen=True)
class Language:
    """What policies must be able to read."""

    prompts: Sequence[str]
    words: int | None
    """Size of the closed set of words; 0 if it is open, None if nobody looked."""


def distant_problems(config: ExperimentConfig) -> list[str]:
    """Addresses in object storage that the environments and benchmarks take their tasks from."""
    options = [env.options for env in config.environments.values()]
    options += [benchmark.options for benchmark in config.evaluation.benchmarks.values()]
    values = [value for chosen in options for value in chosen.values()]
    values += [part for value in values if isinstance(value, dict) for part in value.values()]
    return list(dict.fromkeys(text for text in map(str, values) if text.startswith("s3://")))


def language_of(config: ExperimentConfig) -> Language:
    """The first prompts of every role, and the words of all environments."""
    members, words = open_environments(config), set[str]()
    tasks, prompts = training_tasks(members, config, 0), list[str]()
    closed = all(isinstance(member.env, HasLexicon) for member in members)
    for env in (member.env for member in members):
        states = [env.reset(task) for task in tasks[env.name][:NUM_SHOWN]]
        seen = [env.observe(state, role) for state in states for role in env.roles]
        prompts += [message["content"] for messages in seen for message in messages]
        words |= set(env.lexicon()) if closed and isinstance(env, HasLexicon) else set()
    return Language(prompts, len(words))


def check_environment(config: ExperimentConfig) -> Iterator[Finding]:
    """Roles, and the tasks of all splits and benchmarks, drawn as the run will draw them."""
    members = open_environments(config)
    drawn = training_tasks(members, config, 0)
    wanted = parts_of(members, 0, config.rollout.num_tasks)
    for member in members:
        counts = len(drawn[member.name]), len(wanted[member.name])
        yield from _check_member(config, member, *counts)
    for name, chosen in config.evaluation.benchmarks.items():
        bench = open_benchmark(config, name)
        yield _held_out(bench, f"benchmark {name}", Split(chosen.split))


def _check_member(
    config: ExperimentConfig, member: Member, found: int, wanted: int
) -> Iterator[Finding]:
    """One environment; `found` of the `wanted` first training tasks exist."""
    env, label = member.env, f" {member.name}" if config.envs else ""
    roles = ", ".join(f"{role} = {config.roles[role]}" for role in env.roles)
    share = f", {float(member.share):.1%} of the tasks" if label else ""
    kind = (config.environments[env.name].name or env.name) if label else env.name
    text = f"{kind} {env.version}, {env.order.value}: {roles}{share}"
    yield ok(f"environment{label}", text)
    yield _counted(f"training tasks{label}", found, wanted, "rollout.num_tasks")
    for split in [Split.VALIDATION, *([Split.TEST] if config.evaluation.test else [])]:
        yield _held_out(member, split.value, split, label)


def _held_out(member: Member, subject: str, split: Split, label: str = "") -> Finding:
    count = member.num_evaluation_tasks
    found = len(evaluation_tasks(member.env, split, count))
    return _counted(f"{subject} tasks{label}", found, count, "num_tasks")


def _counted(subject: str, found: int, wanted: int, field: str) -> Finding:
    if found >= wanted:
        return ok(subject, f"{found} drawn")
    return warn(subject, f"{found} of {wanted} exist", f"lower {field}, or add tasks")
