"""The environments of a run, opened: one for `env`, several with their shares for `envs`.

Training tasks, warm start and benchmarks draw from them; who answers is decided elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.mixture import MemberConfig, shares
from components.schedule import spans
from envs.base import Environment
from envs.naming import named
from envs.registry import Recipe

Make = Callable[[Recipe], Environment]
"""How an environment is built, e.g. with processes that judge for it."""


@dataclass(frozen=True)
class Member:
    """One environment as the run plays it. Its roles are the team's."""

    env: Environment
    share: Fraction
    """Of the training tasks."""
    evaluation_share: Fraction
    """Of the success over all environments."""
    num_turns: int
    num_evaluation_tasks: int
    """Of each split."""

    @property
    def name(self) -> str:
        """As it stands in records and metrics."""
        return self.env.name

    @staticmethod
    def alone(env: Environment, num_turns: int, num_evaluation_tasks: int) -> "Member":
        """The only environment."""
        return Member(env, Fraction(1), Fraction(1), num_turns, num_evaluation_tasks)


def open_members(config: ExperimentConfig, make: Make = Recipe.make) -> list[Member]:
    """The environments, by name.

    ConfigError for an option that one does not take, a role that nobody plays or a role that no
    environment has.
    """
    opened = {name: open_one(config, name, make) for name in config.environments}
    _check_team(config, list(opened.values()))
    training, evaluation = training_shares(config), evaluation_shares(config)
    return [
        Member(
            env,
            training[name],
            evaluation[name],
            config.environments[name].num_turns or config.rollout.num_turns,
            config.environments[name].num_evaluation_tasks or config.evaluation.num_tasks,
        )
        for name, env in opened.items()
    ]


def open_one(
    config: ExperimentConfig,
    name: str,
    make: Make = Recipe.make,
    over: Mapping[str, Any] | None = None,
) -> Environment:
    """One of `config.environments`, with `over` put over its options; roles are not checked."""
    settings = config.environments[name]
    recipe = Recipe(settings.name or name, {**settings.options, **(over or {})}, settings.reward)
    field = f"envs.{name}" if config.envs else "env"
    return build(recipe, field, make, (name, settings) if config.envs else None)


def build(
    recipe: Recipe, field: str, make: Make, member: tuple[str, MemberConfig] | None = None
) -> Environment:
    """The environment, as a member if it is one. ConfigError that begins with the field."""
    try:
        env = make(recipe)
        return named(env, member[0], member[1].roles) if member else env
    except ValueError as error:
        text = str(error)
        if member and text.startswith("env."):
            raise ConfigError(f"{field}{text.removeprefix('env')}") from error
        raise ConfigError(f"{field}: {text}") from error


def parts_of(members: Sequence[Member], start: int, count: int) -> dict[str, range]:
    """Member -> which tasks of its own stream are tasks start .. start + count - 1 of the run's.

    By the members' names: an environment named `module:factory` has a name of its own.
    """
    return spans({member.name: member.share for member in members}, start, count)


def training_shares(config: ExperimentConfig) -> dict[str, Fraction]:
    """Name -> part of the training tasks; they sum to 1."""
    return shares({name: member.weight for name, member in config.environments.items()})


def evaluation_shares(config: ExperimentConfig) -> dict[str, Fraction]:
    """Name -> part of the success over all environments; they sum to 1."""
    return shares(
        {
            name: member.evaluation_weight or member.weight
            for name, member in config.environments.items()
        }
    )


def check_roles(env: Environment, roles: Mapping[str, str]) -> None:
    """ConfigError naming roles that the environment lacks, or that nobody plays."""
    unknown = [role for role in roles if role not in env.roles]
    missing = [role for role in env.roles if role not in roles]
    if unknown or missing:
        raise ConfigError(
            f"roles: unknown {unknown}, missing {missing}; "
            f"environment {env.name!r} has exactly {list(env.roles)}"
        )


def check_played(env: Environment, roles: Mapping[str, str], fix: str) -> None:
    """ConfigError naming roles of one environment of several that the team lacks."""
    missing = [role for role in env.roles if role not in roles]
    if missing:
        raise ConfigError(
            f"roles {missing} of environment {env.name!r} are played by nobody; the team has "
            f"{list(roles)}: {fix}"
        )


def _check_team(config: ExperimentConfig, envs: Sequence[Environment]) -> None:
    roles = config.roles
    if not config.envs:
        return check_roles(envs[0], roles)
    for env in envs:
        fix = f"add them to `roles`, or say in envs.{env.name}.roles which of these plays them"
        check_played(env, roles, fix)
    idle = [role for role in roles if not any(role in env.roles for env in envs)]
    if idle:
        has = ", ".join(f"{env.name} {list(env.roles)}" for env in envs)
        raise ConfigError(f"roles {idle} have nothing to do in any environment: {has}")
