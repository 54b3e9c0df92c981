"""An environment under another name: its tasks, and its roles as a team calls them.

So two configurations of one environment can be told apart, and environments with different words
for the same part can share a role. The rules are untouched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, cast

from envs.base import (
    Attempt,
    Environment,
    Message,
    RewardPreset,
    Split,
    State,
    StepResult,
    StepsMany,
    Task,
)


def named(env: Environment, name: str, roles: Mapping[str, str]) -> Environment:
    """The environment as `name`; `roles` is its role -> the team's, equal ones may be left out.

    ValueError for a role that it does not have, or a team's role that would play two of its own.
    """
    unknown = sorted(set(roles) - set(env.roles))
    if unknown:
        raise ValueError(f"roles: unknown {unknown}; it has {list(env.roles)}")
    players = [roles.get(role, role) for role in env.roles]
    twice = sorted({player for player in players if players.count(player) > 1})
    if twice:
        raise ValueError(
            f"roles: the team's role {twice[0]!r} plays two of its roles {list(env.roles)}; "
            "expected a role each (roles may share a policy)"
        )
    return cast(Environment, _Named(env, name, dict(zip(players, env.roles, strict=True))))


class _Named:
    """Everything that names neither a task nor a role is the environment's own."""

    def __init__(self, env: Environment, name: str, own: Mapping[str, str]) -> None:
        self._env, self._own, self._prefix = env, own, f"{name}/"
        self.name = name
        self.roles = tuple(own)
        self.reward_presets = {
            preset: _renamed(declared, own) for preset, declared in env.reward_presets.items()
        }
        if hasattr(env, "demonstrate"):
            self.demonstrate = self._demonstrate

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._env, attribute)

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """The environment's; ids begin with the name, and stay as they are where they do."""
        found = self._env.tasks(split, seed, start, count)
        return [
            task
            if task.task_id.startswith(self._prefix)
            else replace(task, task_id=self._prefix + task.task_id)
            for task in found
        ]

    def observe(self, state: State, role: str) -> list[Message]:
        """As the environment's own role sees it."""
        return self._env.observe(state, self._own_role(role))

    def step(self, state: State, role: str, completion: str) -> StepResult:
        """As the environment's own role acts."""
        return self._env.step(state, self._own_role(role), completion)

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """What `step` returns for each; in one go where the environment can."""
        own = [attempt._replace(role=self._own_role(attempt.role)) for attempt in attempts]
        if isinstance(self._env, StepsMany):
            return self._env.step_many(own)
        return [self._env.step(*attempt) for attempt in own]

    def _demonstrate(self, state: State, role: str, rng: Random) -> str:
        answer: str = cast(Any, self._env).demonstrate(state, self._own_role(role), rng)
        return answer

    def _own_role(self, role: str) -> str:
        if role not in self._own:
            raise ValueError(f"{self.name}: role is {role!r}; expected one of {list(self.roles)}")
        return self._own[role]


def _renamed(preset: RewardPreset, own: Mapping[str, str]) -> RewardPreset:
    local = {player: preset.local[role] for player, role in own.items() if role in preset.local}
    return replace(preset, local=local)
