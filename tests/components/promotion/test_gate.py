"""The gate on known outcomes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig
from components.errors import RecordError
from components.intervals import paired_difference
from components.policies import Team
from components.promotion.gate import Verdict, decide, read_evidence, tags_of
from tests.components.promotion.reports import BAD, GOOD, make_report
from tests.doubles.teams import make_config, make_state


@pytest.fixture
def config(tmp_path: Path) -> ExperimentConfig:
    return make_config(str(tmp_path))


def judge(
    config: ExperimentConfig, ours: Sequence[bool], theirs: Sequence[bool], **changes: Any
) -> Verdict:
    state = make_state(config, 3)
    evidence = replace(read_evidence(make_report(config, state, ours, theirs)), **changes)
    initial = tags_of(Team(state.initial, config.roles))
    return decide(config, evidence, tags_of(state.team(config)), initial, "initial")


def test_clear_gain_passes(config: ExperimentConfig) -> None:
    verdict = judge(config, GOOD, BAD)
    assert verdict.promoted
    assert verdict.gain == pytest.approx(0.7)
    assert (verdict.wins, verdict.losses, verdict.num_tasks) == (70, 0, 100)
    assert "is above 0" in verdict.reasons[0] and "+70.0 points" in verdict.reasons[0]


@pytest.mark.parametrize("swap", [False, True])
def test_no_gain_and_loss_are_refused(config: ExperimentConfig, swap: bool) -> None:
    verdict = judge(config, BAD, GOOD if swap else BAD)
    assert not verdict.promoted
    assert "is not above 0" in verdict.reasons[0]


def test_gain_within_noise_is_refused(config: ExperimentConfig) -> None:
    ours, theirs = [True] * 53 + [False] * 47, [False] * 2 + [True] * 49 + [False] * 49
    verdict = judge(config, ours, theirs)
    assert verdict.gain > 0 > verdict.low
    assert not verdict.promoted


def test_lower_bound_decides_against_min_gain(config: ExperimentConfig) -> None:
    low = paired_difference(GOOD, BAD, 0.95).low
    for need, expected in ((low - 1e-9, True), (low, False)):
        promotion = config.promotion.model_copy(update={"min_gain": need})
        asked = config.model_copy(update={"promotion": promotion})
        assert judge(asked, GOOD, BAD).promoted is expected


def test_impure_grouping_cannot_be_promoted(tmp_path: Path) -> None:
    grouping = {"key": ["task", "role"], "allow_impure": True}
    verdict = judge(make_config(str(tmp_path), grouping=grouping), GOOD, BAD)
    assert not verdict.promoted
    assert "allow_impure" in verdict.reasons[0]


def test_swapped_team_is_refused(config: ExperimentConfig) -> None:
    tags = tags_of(make_state(config, 3).team(config))
    verdict = judge(config, GOOD, BAD, team={"A": tags["B"], "B": tags["A"]})
    assert not verdict.promoted
    assert len(verdict.reasons) == 2 and "as A" in verdict.reasons[0]


def test_mixed_team_is_refused(config: ExperimentConfig) -> None:
    old = tags_of(make_state(config, 2).team(config))
    tags = tags_of(make_state(config, 3).team(config))
    verdict = judge(config, GOOD, BAD, team={**tags, "B": old["B"]})
    assert not verdict.promoted and "b@2" in verdict.reasons[0]


def test_another_reference_than_the_champion_is_refused(config: ExperimentConfig) -> None:
    state = make_state(config, 3)
    evidence = read_evidence(make_report(config, state))
    champion = tags_of(make_state(config, 2).team(config))
    verdict = decide(config, evidence, tags_of(state.team(config)), champion, "champion")
    assert not verdict.promoted
    assert "evaluate again" in verdict.reasons[0]


def test_a_team_does_not_replace_itself(config: ExperimentConfig) -> None:
    state = make_state(config, 0)
    tags = tags_of(state.team(config))
    verdict = decide(config, read_evidence(make_report(config, state)), tags, tags, "initial")
    assert verdict.reasons == ["the team is the initial team itself"]


def test_teams_that_played_other_tasks_are_an_error(config: ExperimentConfig) -> None:
    report = make_report(config, make_state(config, 3))
    del report["benchmarks"]["validation/reference"]["outcomes"]["t5"]
    with pytest.raises(RecordError, match="100 and 99 validation tasks, of which 99"):
        judge(config, GOOD, BAD, reference_solved=read_evidence(report).reference_solved)


@pytest.mark.parametrize("field", ["teams", "benchmarks", "reference"])
def test_missing_field_is_named(config: ExperimentConfig, field: str) -> None:
    report = make_report(config, make_state(config, 3))
    del report[field]
    with pytest.raises(RecordError, match=field):
        read_evidence(report)


def test_other_schema_version_is_refused(config: ExperimentConfig) -> None:
    report = make_report(config, make_state(config, 3)) | {"schema_version": 2}
    with pytest.raises(RecordError, match="schema_version 2, expected 1"):
        read_evidence(report)


def test_fault_7_the_test_split_never_chooses(config: ExperimentConfig) -> None:
    """Whatever was solved of the test split, the evidence is the same; also without any of it."""
    state = make_state(config, 3)
    report = make_report(config, state, GOOD, BAD)
    other = make_report(config, state, BAD, BAD)["benchmarks"]["test"]
    benchmarks = {name: item for name, item in report["benchmarks"].items() if name != "test"}
    assert report["benchmarks"]["test"] != other
    expected = read_evidence(report)
    assert read_evidence(report | {"benchmarks": {**benchmarks, "test": other}}) == expected
    assert read_evidence(report | {"benchmarks": benchmarks}) == expected
