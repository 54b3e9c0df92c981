"""States are those that the demonstrations themselves reach."""

from dataclasses import dataclass, field
from random import Random

import pytest

from components.errors import ConfigError
from components.update.warm_start.demonstrations import demonstrate
from envs.base import Order, State, Status
from tests.doubles.environments import Tracer


@dataclass(frozen=True)
class Showing(Tracer):
    """Role A shows 5, role B shows 9; what is shown does not depend on the draw."""

    shows: dict[str, str] = field(default_factory=lambda: {"A": "5", "B": "9"})

    def demonstrate(self, state: State, role: str, rng: Random) -> str:
        return self.shows[role]


ROLES = {"A": "first", "B": "second"}


def prompts(env: Tracer, roles: dict[str, str], num_turns: int) -> dict[str, list[str]]:
    shown = demonstrate(env, roles, seed=3, num_tasks=1, num_turns=num_turns)
    return {
        policy: [item["messages"][0]["content"].partition("log ")[2] for item in items]
        for policy, items in shown.items()
    }


def test_serial_roles_see_what_was_shown_before_them() -> None:
    assert prompts(Showing(), ROLES, 2) == {
        "first": ["[]", "[A5,B9]"],
        "second": ["[A5]", "[A5,B9,A5]"],
    }


def test_parallel_roles_see_the_start_of_the_turn() -> None:
    env = Showing(order=Order.PARALLEL)
    assert prompts(env, ROLES, 2) == {"first": ["[]", "[A5,B9]"], "second": ["[]", "[A5,B9]"]}


def test_an_episode_ends_where_it_is_decided() -> None:
    env = Showing(endings={"B9": Status.SOLVED})
    assert prompts(env, ROLES, 4) == {"first": ["[]"], "second": ["[A5]"]}


def test_a_shared_policy_is_shown_both_roles() -> None:
    assert prompts(Showing(), {"A": "one", "B": "one"}, 1) == {"one": ["[]", "[A5]"]}


def test_an_environment_that_shows_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="'tracer' has no `demonstrate`"):
        demonstrate(Tracer(), ROLES, 0, 1, 1)
