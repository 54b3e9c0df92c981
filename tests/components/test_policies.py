"""Policy references, teams, and the swapped team."""

import json

import pytest

from components.errors import PolicyError
from components.policies import PolicyRef, Team, swapped
from tests.doubles.experiment import make_policy


def make_team(**roles: str) -> Team:
    return Team({name: make_policy(name) for name in roles.values()}, roles)


def test_a_ref_round_trips_as_json() -> None:
    adapter = make_policy("plan", 3, base=make_policy("base"))
    assert PolicyRef.from_json(json.loads(json.dumps(adapter.to_json()))) == adapter


@pytest.mark.parametrize("field", ["name", "version", "uri", "sha256", "bytes", "base"])
def test_a_missing_field_is_named(field: str) -> None:
    value = make_policy().to_json()
    del value[field]
    with pytest.raises(PolicyError, match=f"bad field .*{field}"):
        PolicyRef.from_json(value)


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(PolicyError, match="bad field .*color"):
        PolicyRef.from_json(make_policy().to_json() | {"color": 1})


def test_the_tag_tells_versions_and_contents_apart() -> None:
    policy = make_policy("tool", 3, sha256="a" * 64)
    assert policy.tag == "tool@3-aaaaaaaaaaaa"
    assert policy.folder.sha256 == policy.sha256


def test_a_team_names_an_unknown_policy_or_role() -> None:
    with pytest.raises(PolicyError, match="'planner' is mapped to policy 'x'; known policies: to"):
        Team({"tool": make_policy()}, {"planner": "x"})
    with pytest.raises(PolicyError, match="'coder' has no policy; roles with one: planner"):
        make_team(planner="plan").of("coder")


def test_two_roles_may_share_a_policy() -> None:
    team = make_team(planner="one", coder="one")
    assert team.of("planner") == team.of("coder")


def test_swapped_is_a_cyclic_shift() -> None:
    team = make_team(a="x", b="y", c="z")
    assert swapped(team).roles == {"a": "y", "b": "z", "c": "x"}
    assert swapped(swapped(swapped(team))) == team
    assert swapped(team).policies == team.policies


@pytest.mark.parametrize("roles", [{"a": "x", "b": "x"}, {"a": "x"}])
def test_swapping_nothing_is_refused(roles: dict[str, str]) -> None:
    with pytest.raises(PolicyError, match="swapped policies need a policy of its own per role"):
        swapped(make_team(**roles))
