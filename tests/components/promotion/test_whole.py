"""A team whose roles are of different iterations is refused wherever it is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.errors import TrackingError
from components.promotion.rollback import plan, rollback
from components.state import read_state
from components.tracking import registry, teams
from components.tracking.whole import DIGEST, MANIFEST
from tests.components.promotion.promoting import Step, copied, prepared


@pytest.fixture(scope="module")
def original(blank_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Step:
    return prepared(blank_database, tmp_path_factory.mktemp("two"), (3, 4))


@pytest.fixture
def two(original: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Versions 1 (r@3) and 2 (r@4), the champion."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    return copied(original, tmp_path)


def edit(step: Step, change: Any) -> None:
    """The manifest of the champion's version, by hand."""
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
        (lambda values: values["evaluation"].update({"validation/success": "x"}), "bad field"),
        (lambda values: values.pop("roles"), "team 'traced' version 2: .*bad field .*put it back"),
    ],
)
def test_what_was_written_over_the_evidence_is_seen(two: Step, change: Any, words: str) -> None:
    edit(two, change)
    for selector in ("champion", "v2"):
        with pytest.raises(TrackingError, match=words):
            teams.find_team(two.config.tracking, "traced", selector)
    assert teams.find_team(two.config.tracking, "traced", "v1").label == "r@3"


def test_an_edited_manifest_is_put_back_from_the_runs_artifacts(two: Step) -> None:
    edit(two, lambda values: values["evaluation"].update({"validation/success": 0.99}))
    version = two.client.get_model_version("traced", "2")
    kept = Path(version.tags["rolewise.card"].removeprefix("file://")).parent / "manifest.json"
    two.client.set_model_version_tag("traced", "2", MANIFEST, kept.read_text())
    assert teams.find_team(two.config.tracking, "traced", "champion").label == "r@4"


def test_a_version_of_before_digests_is_read(two: Step) -> None:
    two.client.delete_model_version_tag("traced", "2", DIGEST)
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
