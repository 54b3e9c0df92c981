"""The environments that a run plays in, with processes that judge, and their tasks."""

from collections.abc import Sequence

from components.config import ExperimentConfig
from components.env_execution.workers import in_workers
from components.errors import ConfigError, RolewiseError
from components.members import (
    Make,
    Member,
    build,
    check_played,
    check_roles,
    open_members,
    open_one,
    parts_of,
)
from components.seeds import EVALUATION_SEED
from envs.base import Environment, HasLexicon, Split, StepsMany, Task
from envs.registry import Recipe


def open_environments(config: ExperimentConfig) -> list[Member]:
    """All of them. ConfigError if the team's roles are not exactly theirs."""
    return open_members(config, _sharing(config))


def open_benchmark(config: ExperimentConfig, name: str) -> Member:
    """The environment of `evaluation.benchmarks.<name>`. ConfigError as in `open_environments`."""
    chosen = config.evaluation.benchmarks[name]
    field, known = f"evaluation.benchmarks.{name}", config.environments
    key = chosen.env or next(iter(known))
    settings = known.get(key)
    reward = config.env.reward if config.env else "dense"
    try:
        env = (
            open_one(config, key, _sharing(config), chosen.options)
            if settings
            else build(Recipe(key, dict(chosen.options), reward), field, _sharing(config))
        )
        if config.envs:
            check_played(env, config.roles, "choose one whose roles it has")
        else:
            check_roles(env, config.roles)
    except ConfigError as error:
        text = str(error).removeprefix(f"{field}: ").removeprefix("env: ")
        raise ConfigError(f"{field}: {text}") from error
    turns = (settings and settings.num_turns) or config.rollout.num_turns
    return Member.alone(env, turns, chosen.num_tasks)


def check_playable(config: ExperimentConfig) -> None:
    """What would stop the run later: a split without tasks, words that no tokenizer can know.

    RolewiseError; ConfigError where the configuration contradicts itself.
    """
    members = open_environments(config)
    splits = [Split.VALIDATION, *([Split.TEST] if config.evaluation.test else [])]
    for member in members:
        _draw(member.env, Split.TRAIN, config.seed, 0, 1)
        for split in splits:
            evaluation_tasks(member.env, split, 1)
        _check_language(config, member.env)


def training_tasks(
    members: Sequence[Member], config: ExperimentConfig, next_task: int
) -> dict[str, Sequence[Task]]:
    """Environment -> its part of the run's next training tasks, from the state's cursor."""
    parts = parts_of(members, next_task, config.rollout.num_tasks)
    return {
        member.name: _draw(member.env, Split.TRAIN, config.seed, part.start, len(part))
        if (part := parts[member.name])
        else []
        for member in members
    }


def held_out_tasks(members: Sequence[Member], split: Split) -> dict[str, Sequence[Task]]:
    """Environment -> its tasks of a split, as many as it is evaluated on."""
    return {
        member.name: evaluation_tasks(member.env, split, member.num_evaluation_tasks)
        for member in members
    }


def evaluation_tasks(env: Environment, split: Split, count: int) -> Sequence[Task]:
    """The first `count` held-out tasks of a split, or all where it has fewer.

    The stream is EVALUATION_SEED whatever the run's seed: teams of all runs and iterations are
    judged on the same tasks and can be compared task by task.
    """
    return _draw(env, split, EVALUATION_SEED, 0, count)


def _sharing(config: ExperimentConfig) -> Make:
    """Makes environments that judge in `rollout.env_workers` processes."""
    workers = config.rollout.env_workers

    def make(recipe: Recipe) -> Environment:
        env = recipe.make()
        if workers == 1 or isinstance(env, StepsMany):
            return env
        return in_workers(env, recipe, workers)

    return make


def _check_language(config: ExperimentConfig, env: Environment) -> None:
    for name, policy in config.policies.items():
        if policy.init is not None and not isinstance(env, HasLexicon):
            raise ConfigError(
                f"policies.{name}.base is init://, whose tokenizer is made of the environment's "
                f"words; {env.name!r} with these options has no closed set of words: expected "
                "`prompt_style: compact` where there is one, or a pretrained base"
            )


def _draw(env: Environment, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
    try:
        tasks = env.tasks(split, seed, start, count)
    except ValueError as error:
        raise RolewiseError(f"environment {env.name!r}: {error}") from error
    if not tasks:
        raise RolewiseError(
            f"environment {env.name!r}: split {split!s} (seed {seed}) has no tasks from {start} "
            f"on, expected {count}"
        )
    return tasks
