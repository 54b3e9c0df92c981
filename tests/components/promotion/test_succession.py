"""A team with other roles than its champion's is refused before it is trained."""

import json
from pathlib import Path

import pytest

from components.commit.main import commit_initial
from components.config import ExperimentConfig
from components.errors import TrackingError
from components.preflight.findings import Finding, Level
from components.preflight.places import check_tracking
from components.state import latest_iteration
from tests.components.promotion.promoting import Step
from tests.doubles.teams import make_config, make_ref

WORDS = r"team 'traced' has the champion r@1 with the roles \['A', 'B'\], this experiment has "


def with_critic(step: Step, **sections: object) -> ExperimentConfig:
    roles = {"A": "a", "critic": "critic", "B": "b"}
    return make_config(str(step.folder), roles, **sections)


def registry_of(config: ExperimentConfig) -> Finding:
    (found,) = [item for item in check_tracking(config) if item.subject == "registry"]
    return found


def test_preflight_says_so(step: Step) -> None:
    config = with_critic(step)
    assert registry_of(config).level is Level.OK
    assert step(step.state(1))["promoted"]
    assert registry_of(step.config).level is Level.OK
    found = registry_of(config)
    assert found.level is Level.FAIL
    assert "['A', 'B']" in found.message and "['A', 'B', 'critic']" in found.message
    assert found.fix == "a team with other roles needs a name of its own: set promotion.team"
    named = with_critic(step, promotion={"team": "critical"})
    assert registry_of(named).level is Level.OK


def test_a_run_ends_before_its_first_iteration(step: Step, tmp_path: Path) -> None:
    assert step(step.state(1))["promoted"]
    refs = {name: make_ref(name).to_json() for name in ("a", "critic", "b")}
    (tmp_path / "policies.json").write_text(json.dumps({"policies": refs}))
    files = ({"policies": str(tmp_path / "policies.json")}, {"state": str(tmp_path / "state.json")})
    with pytest.raises(TrackingError, match=WORDS + r"\['A', 'B', 'critic'\]; .*promotion.team"):
        commit_initial(with_critic(step).to_json(), "late", 0, *files)
    assert latest_iteration(step.store, "late") is None
    named = with_critic(step, promotion={"team": "critical"})
    commit_initial(named.to_json(), "late", 0, *files)
    assert latest_iteration(step.store, "late") == 0
