"""Which prompts and answers a policy is shown: episodes played by the demonstrations themselves.

Pure Python; the tasks come from a seed stream of their own, so the rollout never plays them.
"""

from collections.abc import Mapping
from random import Random
from typing import TypedDict

from components.errors import ConfigError
from components.seeds import derive_seed
from envs.base import Demonstrates, Environment, Message, Order, Split, State, Status, Task


class Demonstration(TypedDict):
    """One prompt and the answer to imitate."""

    messages: list[Message]
    answer: str


def demonstrate(
    env: Environment, roles: Mapping[str, str], seed: int, num_tasks: int, num_turns: int
) -> dict[str, list[Demonstration]]:
    """Policy -> demonstrations of all roles it plays, task after task, in the order of play.

    ConfigError if the environment has none.

    Args:
        roles: role -> policy.
        seed: of the task stream and of every answer.
    """
    if not isinstance(env, Demonstrates):
        raise ConfigError(
            f"warm_start: environment {env.name!r} has no `demonstrate`; remove `warm_start` or "
            "begin with a model that answers already"
        )
    shown: dict[str, list[Demonstration]] = {policy: [] for policy in roles.values()}
    for task in env.tasks(Split.TRAIN, seed, 0, num_tasks):
        for role, item in play(env, task, seed, num_turns):
            shown[roles[role]].append(item)
    return shown


def play(
    env: Environment, task: Task, seed: int, num_turns: int
) -> list[tuple[str, Demonstration]]:
    """(role, demonstration) along one episode: each answer is executed and leads to the next."""
    if not isinstance(env, Demonstrates):
        raise ConfigError(f"environment {env.name!r} has no `demonstrate`")
    state, shown = env.reset(task), []
    for turn in range(num_turns):
        start: State = state
        for role in env.roles:
            seen = start if env.order is Order.PARALLEL else state
            rng = Random(derive_seed("demonstration", seed, task.task_id, turn, role))
            answer = env.demonstrate(seen, role, rng)
            shown.append((role, Demonstration(messages=env.observe(seen, role), answer=answer)))
            result = env.step(state, role, answer)
            state = result.state
            if result.status is not Status.RUNNING:
                return shown
    return shown
