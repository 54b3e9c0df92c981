"""Every built-in environment with the option sets that are worth trying.

`tests/envs/<name>/answers.py` may say which: `FUZZED`, pairs of options and reward preset; the
default options otherwise. `invalid(env, state, role)` there gives readable answers that are
impossible in a state.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any, NamedTuple

from envs.base import Attempt, Demonstrates, Environment, Order, Split, Status, StepsMany
from envs.registry import BUILT_IN, Recipe


class Case(NamedTuple):
    """One environment with its options."""

    label: str
    """`sokoban-2`: the name and the number of the option set."""
    recipe: Recipe

    def __str__(self) -> str:
        return self.label


class Seen(NamedTuple):
    """What was met on the way through some demonstrated episodes."""

    places: list[tuple[Any, str]]
    """(state, role) in which a text is judged."""
    answers: dict[str, list[str]]
    """role -> demonstrations."""


def all_cases() -> list[Case]:
    """Sorted by name; several per environment."""
    return [case for name in sorted(BUILT_IN) for case in cases_of(name)]


def cases_of(name: str) -> list[Case]:
    """The option sets of one environment."""
    found = getattr(_answers(name), "FUZZED", None) or [({}, "dense")]
    return [
        Case(f"{name}-{number}", Recipe(name, options, reward))
        for number, (options, reward) in enumerate(found)
    ]


def invalid_moves(name: str, env: Environment) -> Callable[[Any, str], Sequence[str]] | None:
    """What answers.py says to be impossible; None if it says nothing."""
    known = getattr(_answers(name), "invalid", None)
    return known and (lambda state, role: known(env, state, role))


def first_tasks(env: Environment, split: Split, count: int) -> Sequence[Any]:
    """The first tasks of a split, fewer where there are no more."""
    while count:
        try:
            return env.tasks(split, 0, 0, count)
        except ValueError:
            count //= 2
    return []


def look_around(env: Environment, num_tasks: int = 6, num_turns: int = 3) -> Seen:
    """Play demonstrations and remember every place and every answer."""
    seen = Seen([], {role: [] for role in env.roles})
    assert isinstance(env, Demonstrates), f"{env.name} shows no example answers"
    for number, task in enumerate(first_tasks(env, Split.TRAIN, num_tasks)):
        _play(env, env.reset(task), num_turns, Random(number), seen)
    return seen


def judge(env: Environment, attempts: Sequence[Attempt]) -> list[Any]:
    """All at once where the environment can."""
    if isinstance(env, StepsMany):
        return env.step_many(attempts)
    return [env.step(*attempt) for attempt in attempts]


def _play(env: Environment, state: Any, num_turns: int, rng: Random, seen: Seen) -> None:
    for _ in range(num_turns):
        begun = state
        for role in env.roles:
            text = env.demonstrate(begun if env.order is Order.PARALLEL else state, role, rng)  # type: ignore[attr-defined]
            seen.places.append((state, role))
            seen.answers[role].append(text)
            (result,) = judge(env, [Attempt(state, role, text)])
            if result.status is not Status.RUNNING:
                return
            state = result.state


def _answers(name: str) -> Any:
    module = f"tests.envs.{name}.answers"
    try:
        return import_module(module) if find_spec(module) else None
    except ModuleNotFoundError:  # not even a folder of that name
        return None
