"""The teams that meet in an evaluation, and one engine team that holds all their policies."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.config import ExperimentConfig
from components.errors import PolicyError
from components.policies import PolicyRef, Team, swapped
from components.state import TrainingState


@dataclass(frozen=True)
class Contest:
    """Who is evaluated, and against whom."""

    candidate: Team
    reference: Team
    reference_name: str
    """`champion`, or `initial` where the registry has no champion yet."""
    swapped: Team | None
    """The candidate with its policies exchanged; None if not wanted or policies are shared."""

    @property
    def teams(self) -> dict[str, Team]:
        """All of them by name."""
        teams = {"candidate": self.candidate, "reference": self.reference}
        return teams | ({"swapped": self.swapped} if self.swapped else {})


def contest(config: ExperimentConfig, state: TrainingState, champion: Team | None) -> Contest:
    """The state's team against the champion, or against the run's start.

    PolicyError if the champion has other roles: nothing could be compared.
    """
    candidate = state.team(config)
    if champion is not None and set(champion.roles) != set(candidate.roles):
        raise PolicyError(
            f"champion of team {config.team_name!r} has roles {sorted(champion.roles)}, "
            f"expected {sorted(candidate.roles)}; choose another promotion.team"
        )
    own = len(candidate.roles) > 1 and len(set(candidate.roles.values())) == len(candidate.roles)
    return Contest(
        candidate=candidate,
        reference=champion or Team(state.initial, config.roles),
        reference_name="champion" if champion else "initial",
        swapped=swapped(candidate) if config.evaluation.swapped and own else None,
    )


def join(teams: Mapping[str, Team]) -> tuple[Team, dict[str, dict[str, str]]]:
    """One team of all policies for one engine, and team name -> role -> its policy's key.

    Keys are `<team>/<policy>`; a policy version that several teams play is loaded once.
    """
    keys: dict[PolicyRef, str] = {}
    for name, team in teams.items():
        for policy, ref in team.policies.items():
            if policy in team.roles.values():
                keys.setdefault(ref, f"{name}/{policy}")
    routes = {
        name: {role: keys[team.of(role)] for role in team.roles} for name, team in teams.items()
    }
    roles = {f"{name}/{role}": key for name, of in routes.items() for role, key in of.items()}
    return Team({key: ref for ref, key in keys.items()}, roles), routes
