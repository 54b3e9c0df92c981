"""A team whose roles are of different iterations is refused wherever it is read."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from components.errors import TrackingError
from components.promotion.rollback import plan, rollback
from components.state import read_state
from components.tracking import registry, teams
from components.tracking.whole import DIGEST, MANIFEST
from tests.components.promotion.promoting import Step, copied, prepared
from tests.components.promotion.reports import make_report


@pytest.fixture(scope="module")
def original(blank_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Step:
    return prepared(blank_database, tmp_path_factory.mktemp("two"), (3, 4))


@pytest.fixture
def two(original: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Versions 1 (r@3) and 2 (r@4), the champion."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    return copied(original, tmp_path)


def edit(step: Step, change: Any, digest: bool = False) -> None:
    """The manifest of the champion's version, by hand; its digest goes, as of older versions."""
    if not digest:
        step.client.delete_model_version_tag("traced", "2", DIGEST)
    tags = step.client.get_model_version("traced", "2").tags
    values = json.loads(tags[MANIFEST])
    change(values)
    step.client.set_model_version_tag("traced", "2", MANIFEST, json.dumps(values))


def test_an_edited_version_names_role_and_both_versions(two: Step) -> None:
    edit(two, lambda values: values["versions"].update({"traced.B": "1"}))
    two.client.set_registered_model_alias("traced.B", "champion", "1")
    expected = (
        r"team 'traced' version 2 is mixed, it is r@4: role 'B' is traced.B version 1, which is "
        r"b@3-\w+ of r@3, expected b@4-\w+ of r@4"
    )
    for read in (
        lambda: registry.champion(two.config),
        lambda: teams.find_team(two.config.tracking, "traced", "champion"),
        lambda: teams.find_team(two.config.tracking, "traced", "v2"),
        lambda: two(read_state(two.store, "r", 4)),
    ):
        with pytest.raises(TrackingError, match=expected):
            read()


def test_edited_weights_are_seen(two: Step) -> None:
    older = read_state(two.store, "r", 3).policies["a"]
    edit(two, lambda values: values["policies"].update({"a": older.to_json()}))
    with pytest.raises(TrackingError, match=r"role 'A' .* is a@4-\w+ of r@4, expected a@3-\w+"):
        registry.champion(two.config)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda values: values["evaluation"].update({"validation/success": 0.99}), "was edited"),
        (lambda values: values["envs"].clear(), "version 2: tag rolewise.manifest was edited"),
        (lambda values: values["evaluation"].update({"validation/success": "x"}), "was edited"),
        (lambda values: values["versions"].update({"traced.B": "1"}), "was edited.* put it back"),
    ],
)
def test_what_was_written_over_the_evidence_is_seen(two: Step, change: Any, words: str) -> None:
    edit(two, change, digest=True)
    for selector in ("champion", "v2"):
        with pytest.raises(TrackingError, match=words):
            teams.find_team(two.config.tracking, "traced", selector)
    assert teams.find_team(two.config.tracking, "traced", "v1").label == "r@3"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda values: values["evaluation"].update({"validation/success": "x"}), "bad field"),
        (lambda values: values.pop("roles"), "bad field"),
        (lambda values: values.update(roles=5), "roles: 5, expected names and strings"),
        (lambda values: values.update(gate=[]), "gate: .*, expected a mapping"),
        (lambda values: values["policies"].clear(), "roles: policies .*, expected some of"),
        (lambda values: values.update(team="other"), "of team 'other'"),
    ],
)
def test_a_damaged_manifest_without_a_digest_is_named(two: Step, change: Any, words: str) -> None:
    edit(two, change)
    for selector in ("champion", "v2"):
        with pytest.raises(TrackingError, match=f"team 'traced' version 2: .*{words}.*put it back"):
            teams.find_team(two.config.tracking, "traced", selector)


def test_versions_that_are_gone_are_named(two: Step) -> None:
    two.client.delete_model_version("traced.B", "2")
    with pytest.raises(TrackingError, match="model 'traced.B' has no version 2 in the registry"):
        teams.find_team(two.config.tracking, "traced", "v2")
    with pytest.raises(TrackingError, match="model 'traced' has no version 7 in the registry"):
        teams.find_team(two.config.tracking, "traced", "v7")


def test_a_champion_whose_alias_is_gone_is_not_forgotten(two: Step) -> None:
    state, place = two.state(5), (two.store, two.config.tracking, "traced")
    report = make_report(two.config, state)
    two.client.delete_registered_model_alias("traced", "champion")
    with pytest.raises(TrackingError, match="no alias 'champion', but traced.A at version 2, tr"):
        two.run(state, report)
    for model in ("traced.A", "traced.B"):
        two.client.delete_registered_model_alias(model, "champion")
    gone = r"entry 2 .*\(promoted, r@4\) is not carried out, its alias 'champion' is nowhere"
    with pytest.raises(TrackingError, match=gone):
        two.run(state, report)
    assert len(two.log) == 2 and len(two.client.search_model_versions("name = 'traced'")) == 2
    rollback(*place, plan(*place))
    assert two.aliases("champion") == ["2", "2", "2"]
    assert not two.run(state, report)["promoted"]  # the report is about the initial team


def test_another_registry_begins_anew(two: Step, blank_database: Path, tmp_path: Path) -> None:
    """It has neither the champion that the log names nor the run that the versions link to."""
    state = two.state(5)
    shutil.copy(blank_database, tmp_path / "other.db")
    tracking = two.config.tracking.model_copy(update={"uri": f"sqlite:///{tmp_path}/other.db"})
    other = Step(two.config.model_copy(update={"tracking": tracking}), tmp_path)
    assert other.run(state, make_report(other.config, state))["promoted"]
    assert other.aliases("champion") == ["1", "1", "1"]
    assert not other.client.get_model_version("traced", "1").run_id
    with pytest.raises(TrackingError, match="model 'traced' has no version 2 in the registry"):
        rollback(other.store, tracking, "traced", plan(other.store, tracking, "traced"))


def test_a_log_that_lost_an_entry_goes_nowhere_back(two: Step) -> None:
    (two.folder / "store/teams/traced/audit/000001.json").unlink()
    place = (two.store, two.config.tracking, "traced")
    with pytest.raises(TrackingError, match=r"audit log in .* has lost its entries \[1\]"):
        plan(*place)
    with pytest.raises(TrackingError, match="team 'nobody': no audit log in .*another --store"):
        plan(two.store, two.config.tracking, "nobody")
    two.client.delete_registered_model_alias("traced", "champion")
    repaired = rollback(*place, plan(*place))  # the champion is known, if not the one before
    assert repaired.label == "r@4" and two.aliases("champion") == ["2", "2", "2"]
    assert two(two.state(5))["promoted"] and two.log[-1].number == 4


def test_an_edited_manifest_is_put_back_from_the_runs_artifacts(two: Step) -> None:
    edit(two, lambda values: values["evaluation"].update({"validation/success": 0.99}), True)
    version = two.client.get_model_version("traced", "2")
    kept = Path(version.tags["rolewise.card"].removeprefix("file://")).parent / "manifest.json"
    two.client.set_model_version_tag("traced", "2", MANIFEST, kept.read_text())
    assert teams.find_team(two.config.tracking, "traced", "champion").label == "r@4"


def test_a_version_of_before_digests_is_read(two: Step) -> None:
    edit(two, lambda values: None)
    assert teams.find_team(two.config.tracking, "traced", "champion").label == "r@4"


def test_a_role_registered_by_hand_is_no_role_of_ours(two: Step) -> None:
    made = two.client.create_model_version("traced.A", "file:///elsewhere", await_creation_for=0)
    edit(two, lambda values: values["versions"].update({"traced.A": str(made.version)}))
    two.client.set_registered_model_alias("traced.A", "champion", made.version)
    with pytest.raises(TrackingError, match="role 'A' is traced.A version 3, which is no policy"):
        registry.champion(two.config)


def test_rollback_goes_back_to_a_whole_team(two: Step) -> None:
    two.client.set_registered_model_alias("traced.A", "champion", "1")
    with pytest.raises(TrackingError, match="role 'A' is at version 1 of traced.A, expected 2"):
        registry.champion(two.config)
    place = (two.store, two.config.tracking, "traced")
    assert rollback(*place, plan(*place)).label == "r@4"
    champion = registry.champion(two.config)
    assert champion is not None and champion.label == "r@4"


def test_unknown_teams_and_aliases_say_what_there_is(two: Step) -> None:
    with pytest.raises(TrackingError, match="team 'chess' is not registered .*teams: traced;"):
        teams.find_team(two.config.tracking, "chess", "champion")
    with pytest.raises(TrackingError, match="no alias 'best'; aliases: candidate, champion;"):
        teams.find_team(two.config.tracking, "traced", "best")
