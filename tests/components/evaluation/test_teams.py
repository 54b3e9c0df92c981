"""Who meets whom, and one engine team that holds all policies."""

import pytest

from components.errors import PolicyError
from components.evaluation.teams import contest, join
from components.policies import Team
from tests.doubles.teams import make_config, make_ref, make_state


def test_reference_is_the_start_until_there_is_a_champion() -> None:
    config = make_config("nowhere")
    meeting = contest(config, make_state(config, iteration=3), None)
    assert meeting.reference_name == "initial"
    assert {ref.version for ref in meeting.candidate.policies.values()} == {3}
    assert {ref.version for ref in meeting.reference.policies.values()} == {0}
    assert meeting.swapped is None


def test_champion_replaces_the_start() -> None:
    config = make_config("nowhere")
    champion = Team({"x": make_ref("x", 9)}, {"A": "x", "B": "x"})
    meeting = contest(config, make_state(config, iteration=3), champion)
    assert (meeting.reference_name, meeting.reference) == ("champion", champion)


def test_champion_of_other_roles_is_refused() -> None:
    config = make_config("nowhere")
    champion = Team({"x": make_ref("x", 9)}, {"A": "x"})
    with pytest.raises(PolicyError, match=r"has roles \['A'\], expected \['A', 'B'\]"):
        contest(config, make_state(config), champion)


def test_swapped_exchanges_the_policies_unless_they_are_shared() -> None:
    swap = {"evaluation": {"num_tasks": 3, "swapped": True}}
    config = make_config("nowhere", **swap)
    meeting = contest(config, make_state(config, 1), None)
    assert meeting.swapped is not None
    assert meeting.swapped.roles == {"A": "b", "B": "a"}
    shared = make_config("nowhere", {"A": "a", "B": "a"}, **swap)
    assert contest(shared, make_state(shared, 1), None).swapped is None


def test_join_loads_every_policy_version_once() -> None:
    config = make_config("nowhere", evaluation={"num_tasks": 3, "swapped": True})
    team, routes = join(contest(config, make_state(config, 1), None).teams)
    assert set(team.policies) == {"candidate/a", "candidate/b", "reference/a", "reference/b"}
    assert routes["swapped"] == {"A": "candidate/b", "B": "candidate/a"}
    assert set(team.roles.values()) == set(team.policies)


def test_join_of_a_team_with_itself() -> None:
    config = make_config("nowhere")
    team, routes = join(contest(config, make_state(config, 0), None).teams)
    assert set(team.policies) == {"candidate/a", "candidate/b"}
    assert routes["reference"] == routes["candidate"]
