"""What the turn loop needs of the configuration, and the environment it is played in.

Training and evaluation differ only in their rules: evaluation is K = 1, greedy, on fixed tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from components.config import ExperimentConfig
from components.engine import Sampling
from components.env_execution.workers import in_workers
from components.errors import ConfigError, RolewiseError
from components.records import Turn
from envs.base import Environment, HasLexicon, Order, Split, StepsMany, Task
from envs.registry import Recipe

EVALUATION_SEED = 0
"""Stream of all held-out tasks: the same for every run and seed, so that any two teams pair up."""


@dataclass(frozen=True)
class Rules:
    """How episodes are played. K = num_candidates, T = num_turns."""

    roles: Mapping[str, str]
    """role -> policy: what is written into every prompt as the one to answer."""
    num_candidates: int = 1
    num_turns: int = 1
    beam: int = 1
    """Children kept at each node."""
    pick: Literal["greedy", "sample"] = "greedy"
    alpha: float = 1.0
    """Weight of the team reward."""
    sampling: Literal["tree", "parallel"] = "tree"
    run_seed: int = 0
    iteration: int = 0
    """With `run_seed`: where every draw of a candidate or a pick comes from."""


def training_rules(config: ExperimentConfig, iteration: int) -> Rules:
    """The rules of one iteration's training episodes."""
    settings = config.rollout
    return Rules(
        roles=config.roles,
        num_candidates=settings.num_candidates,
        num_turns=settings.num_turns,
        beam=settings.beam,
        pick=settings.pick,
        alpha=settings.alpha,
        sampling=settings.sampling,
        run_seed=config.seed,
        iteration=iteration,
    )


def training_sampling(config: ExperimentConfig) -> Sampling:
    """The distribution that training candidates are drawn from."""
    settings = config.rollout
    return Sampling(
        temperature=settings.temperature,
        top_p=settings.top_p,
        top_k=settings.top_k,
        max_new_tokens=settings.max_new_tokens,
        max_prompt_tokens=settings.max_prompt_tokens,
    )


def evaluation_rules(config: ExperimentConfig, roles: Mapping[str, str]) -> Rules:
    """K = 1 and no branching; seeds do not depend on run or iteration."""
    settings = config.rollout
    return Rules(
        roles=roles,
        num_turns=settings.num_turns,
        alpha=settings.alpha,
        run_seed=EVALUATION_SEED,
    )


def evaluation_sampling(config: ExperimentConfig) -> Sampling:
    """Greedy: the most likely token, always."""
    settings = config.rollout
    return Sampling(
        temperature=0.0,
        max_new_tokens=settings.max_new_tokens,
        max_prompt_tokens=settings.max_prompt_tokens,
    )


def open_environment(config: ExperimentConfig) -> Environment:
    """The configured environment. ConfigError if the team's roles are not exactly its roles."""
    return _make("env", config.env.name, config.env.options, config)


def open_benchmark(config: ExperimentConfig, name: str) -> Environment:
    """The environment of `evaluation.benchmarks.<name>`. ConfigError as in `open_environment`."""
    chosen = config.evaluation.benchmarks[name]
    own = chosen.env is None or chosen.env == config.env.name
    options = {**config.env.options, **chosen.options} if own else chosen.options
    return _make(f"evaluation.benchmarks.{name}", chosen.env or config.env.name, options, config)


def _make(
    field: str, name: str, options: Mapping[str, Any], config: ExperimentConfig
) -> Environment:
    recipe = Recipe(name, dict(options), config.env.reward)
    try:
        env = recipe.make()
        check_roles(env, config.roles)
    except ValueError as error:
        raise ConfigError(f"{field}: {error}") from error
    workers = config.rollout.env_workers
    if workers == 1 or isinstance(env, StepsMany):
        return env
    return in_workers(env, recipe, workers)


def check_roles(env: Environment, roles: Mapping[str, str]) -> None:
    """ConfigError naming roles that the environment lacks, or that nobody plays."""
    unknown = [role for role in roles if role not in env.roles]
    missing = [role for role in env.roles if role not in roles]
    if unknown or missing:
        raise ConfigError(
            f"roles: unknown {unknown}, missing {missing}; "
            f"environment {env.name!r} has exactly {list(env.roles)}"
        )


def check_playable(config: ExperimentConfig) -> None:
    """What would stop the run later: a split without tasks, words that no tokenizer can know.

    RolewiseError; ConfigError where the configuration contradicts itself.
    """
    env = open_environment(config)
    splits = [Split.VALIDATION, *([Split.TEST] if config.evaluation.test else [])]
    _draw(env, Split.TRAIN, config.seed, 0, 1)
    for split in splits:
        evaluation_tasks(env, split, 1)
    for name, policy in config.policies.items():
        if policy.init is not None and not isinstance(env, HasLexicon):
            raise ConfigError(
                f"policies.{name}.base is init://, whose tokenizer is made of the environment's "
                f"words; {env.name!r} with these options has no closed set of words: expected "
                "`prompt_style: compact` where there is one, or a pretrained base"
            )


def check_branching(env: Environment, rules: Rules) -> None:
    """RolewiseError for a beam where roles act in parallel: their picks have no common parent."""
    if rules.beam > 1 and env.order == Order.PARALLEL and len(env.roles) > 1:
        raise RolewiseError(
            f"rollout.beam is {rules.beam}, but the roles of environment {env.name!r} act in "
            "parallel: expected 1 (branches of one role would need new prompts for the others)"
        )


def training_tasks(env: Environment, config: ExperimentConfig, next_task: int) -> Sequence[Task]:
    """The next tasks of the run's own training stream, from the state's cursor."""
    return _draw(env, Split.TRAIN, config.seed, next_task, config.rollout.num_tasks)


def evaluation_tasks(env: Environment, split: Split, count: int) -> Sequence[Task]:
    """The first `count` held-out tasks of a split, or all where it has fewer.

    The stream is EVALUATION_SEED whatever the run's seed: teams of all runs and iterations are
    judged on the same tasks and can be compared task by task.
    """
    return _draw(env, split, EVALUATION_SEED, 0, count)


def candidate_indices(turn: Turn, rules: Rules) -> tuple[int, ...]:
    """Which candidates answer this row: all K, or in parallel sampling the replica's own."""
    if rules.sampling == "parallel":
        return (int(turn.episode_id.rpartition("#")[2]),)
    return tuple(range(rules.num_candidates))


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
