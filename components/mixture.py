"""Several environments in one run: the settings of each, and their exact shares.

Which task comes when is in schedule.py; how the environments are opened in members.py.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field, field_validator

from components.settings import Positive, Section

MemberName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")]
Weight = Annotated[float, Field(gt=0.0, le=1e6)]
RESERVED = ("reference", "swapped")
"""Names of teams: `validation/reference` is no environment."""


class MemberConfig(Section):
    """One environment of a run, with its own options."""

    name: str | None = None
    """A registered name, an entry point's name, or `module:Class`; None: its key in `envs`."""
    options: dict[str, Any] = {}
    reward: str = "dense"
    weight: Weight = 1.0
    """Its part of the training tasks, of the warm start's too, relative to the others'."""
    roles: dict[str, str] = {}
    """The environment's role -> the team's role that plays it; equal names may be left out."""
    num_turns: Positive | None = None
    """None: `rollout.num_turns`."""
    num_evaluation_tasks: Positive | None = None
    """Held-out tasks; None: `evaluation.num_tasks`."""
    evaluation_weight: Weight | None = None
    """Its part of the success over all environments; None: `weight`."""

    @field_validator("roles")
    @classmethod
    def _roles_stay_apart(cls, roles: dict[str, str]) -> dict[str, str]:
        players = list(roles.values())
        twice = sorted({player for player in players if players.count(player) > 1})
        if twice:
            raise ValueError(
                f"the team's role {twice[0]!r} plays two roles of one environment; expected a role "
                "each (roles may share a policy)"
            )
        return roles


def check_names(envs: Mapping[str, MemberConfig]) -> None:
    """ValueError for a name that the team of a report has."""
    taken = sorted(set(RESERVED) & set(envs))
    if taken:
        raise ValueError(f"envs {taken} have names of teams, expected other names")


def check_players(envs: Mapping[str, MemberConfig], team: Mapping[str, str]) -> None:
    """ValueError for an environment's role that is given to a role the team does not have."""
    for name, member in envs.items():
        for role, player in member.roles.items():
            if player not in team:
                raise ValueError(
                    f"envs.{name}.roles.{role} is {player!r}; expected one of {sorted(team)}"
                )


def shares(weights: Mapping[str, float]) -> dict[str, Fraction]:
    """Weights as exact parts of 1: 0.7 is seven tenths, as it was written."""
    exact = {name: Fraction(repr(float(weight))) for name, weight in weights.items()}
    total = sum(exact.values(), Fraction(0))
    return {name: weight / total for name, weight in exact.items()}
