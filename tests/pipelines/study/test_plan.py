"""Reading a study: arms over the base, starts of the same seed, faults by name."""

from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from pipelines.study.plan import load_study, merged, references
from pipelines.study.running import jobs_of
from tests.pipelines.study.studies import ARMS, write_study

GAMES = ("plan_path", "sokoban")
EVERY_STUDY = sorted(Path("experiments").glob("*/study.yaml"))


def test_changes_go_over_the_base_and_teams_are_replaced_whole() -> None:
    base = {"rollout": {"beam": 1, "alpha": 1.0}, "policies": {"a": {}}, "warm_start": {"steps": 3}}
    changes = {"rollout": {"alpha": 0.0}, "policies": {"b": {}}, "warm_start": None}
    assert merged(base, changes) == {"rollout": {"beam": 1, "alpha": 0.0}, "policies": {"b": {}}}


def test_null_is_a_value_below_the_top() -> None:
    assert merged({"grouping": {"std_ddof": 1}}, {"grouping": {"std_ddof": None}}) == {
        "grouping": {"std_ddof": None}
    }


def test_a_start_is_the_run_of_the_same_seed(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    config = study.config("mixed", 5, {"team": 7, "start": 0})
    assert config.policies["a"].base == "run://words-team-s5:7/a"
    assert config.policies["b"].base == "run://words-start-s5:0/b"
    assert (config.seed, config.team_name) == (5, "words-mixed-s5")


def test_jobs_come_with_and_after_what_they_need(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    assert jobs_of(study, ["mixed"], [3]) == [("start", 3), ("team", 3), ("mixed", 3)]
    assert [arm for arm, _ in jobs_of(study)] == ["start", "team", "shared", "mixed"]


def test_the_short_form_has_a_name_and_budget_of_its_own(tmp_path: Path) -> None:
    short = {"candidates": 5, "seeds": [9], "set": {"evaluation": {"num_tasks": 1}}}
    study = load_study(write_study(tmp_path, short=short), short=True)
    assert study.run_name("team", 9) == "words_short-team-s9"
    assert (study.budget("team"), study.budget("start")) == (5, 0)
    assert study.config("shared", 9, {}).evaluation.num_tasks == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": 0}, "candidates: Input should be greater than or equal to 1, got 0"),
        ({"seeds": []}, "seeds: List should have at least 1 item"),
        ({"budget": 3}, "budget: unknown key"),
        (
            {"arms": ARMS | {"x": {"title": "x", "set": {"policies": {"a": {"base": "run://@y/a"}}}}}},
            "arms.x starts from @y; expected another of",
        ),
        (
            {"arms": ARMS | {"x": {"title": "x", "set": {"seed": 3}}}},
            r"arms.x.set has \['seed'\], which the study sets itself",
        ),
        (
            {"arms": ARMS | {"x": {"title": "x", "set": {"rollout": {"beam": 9}}}}},
            "arms.x: .*beam 9 keeps more than num_candidates 3",
        ),
        (
            {"claims": [{"text": "c", "first": "team", "second": "nobody"}]},
            "claim 'c' names arm 'nobody'",
        ),
        ({"like": "study.yaml"}, "like: study.yaml leads back to it; expected another study"),
        ({"seeds": [0, 1, 0]}, r"seeds \[0, 1, 0\] name one twice"),
        (
            {"arms": ARMS | {"start": {"title": "x", "set": {"policies": {"a": {"base": "run://@team/a"}}}}}},
            "arms start from each other: start <- team <- start",
        ),
        (
            {"claims": [{"text": "c", "first": "team", "second": "team/validation/swaped"}]},
            "claim 'c' asks for 'validation/swaped'; expected .*'test'.* or validation/swapped",
        ),
        (
            {"claims": [{"text": "c", "first": "team", "second": "shared", "measure": "tests"}]},
            "claim 'c' asks for 'tests'",
        ),
    ],
)  # fmt: skip
def test_faults_name_the_file_and_the_key(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=rf"study.yaml: .*{message}"):
        load_study(write_study(tmp_path, **changes))


@pytest.mark.parametrize(
    ("content", "said"),
    [(Path("experiments/quickstart/config.yaml").read_bytes(), "; `run` trains an experiment's"),
     (b"name: x\nnotes: y\n", r"like, as in experiments/\*/study.yaml$"),
     (b"{}", "has neither arms nor candidates; expected name, title, candidates, arms and,")],
)  # fmt: skip
def test_a_file_of_another_kind_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=f"x.yaml: is no study, .*{said}") as fault:
        load_study(tmp_path / "x.yaml")
    assert "\n" not in str(fault.value)


def test_a_file_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\x89PNG")
    with pytest.raises(ConfigError, match=r"x.yaml: not text: .*byte 0x89"):
        load_study(tmp_path / "x.yaml")


def test_a_study_with_a_word_wrong_is_told_which(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    path.write_text(path.read_text().replace("\narms:", "\narm:"))
    with pytest.raises(ConfigError, match="arms: missing\n.*arm: unknown key"):
        load_study(path)


def test_arms_with_a_budget_of_their_own_keep_their_share_of_the_short_one(tmp_path: Path) -> None:
    arms = {**ARMS, "team": {**ARMS["team"], "candidates": 10}}
    path = write_study(tmp_path, arms=arms, short={"candidates": 6})
    assert load_study(path).budget("team") == 10
    assert load_study(path, short=True).budget("team") == 3


def test_a_study_without_short_form_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no `short` form"):
        load_study(write_study(tmp_path), short=True)


@pytest.mark.parametrize("path", EVERY_STUDY, ids=lambda path: path.parent.name)
def test_every_study_of_this_repository_is_whole(path: Path) -> None:
    study = load_study(path)
    assert study.plan.name == path.parent.name
    assert load_study(path, short=True).plan.name == f"{path.parent.name}_short"
    assert len(study.plan.seeds) >= 3


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("path", EVERY_STUDY, ids=lambda path: path.parent.name)
def test_arms_of_a_study_have_the_same_budget(path: Path, short: bool) -> None:
    """What the arms that one starts from generated is its own; only `apart` says it is twice."""
    study = load_study(path, short)

    def spent(arm: str) -> int:
        starts = set(references(study.plan.arms[arm].set))
        return study.budget(arm) + sum(spent(other) for other in starts)

    untrained = {arm for arm in study.plan.arms if arm.startswith("start")}
    arms = {name for name, arm in study.plan.arms.items() if arm.shown} - untrained
    assert {spent(arm) for arm in arms - {"apart"}} == {study.plan.candidates}
    if "apart" in arms:
        assert spent("apart") == 2 * study.plan.candidates


def test_the_papers_figures_stand_beside_the_game_that_they_are_of() -> None:
    """A study that is `like` another takes its claims over: another game's figures with them."""
    first, *others = [load_study(f"experiments/teams_{name}/study.yaml") for name in GAMES]
    known = {claim.paper for claim in first.plan.claims if claim.paper}
    for study in [*others, load_study("experiments/routes_plan_path/study.yaml")]:
        assert not known & {claim.paper for claim in study.plan.claims}


def test_a_study_can_be_like_another_but_for_some_arms(tmp_path: Path) -> None:
    write_study(tmp_path).rename(tmp_path / "first.yaml")
    arms = "{mixed: null, more: {title: more, set: {policies: {a: {base: 'run://@start/a'}}}}}"
    (tmp_path / "study.yaml").write_text(
        f"like: first.yaml\nname: second\narms: {arms}\nclaims: []\n"
    )
    with pytest.raises(ConfigError, match="arms.more: .*roles.B is 'b'"):
        load_study(tmp_path / "study.yaml")
    (tmp_path / "study.yaml").write_text("like: first.yaml\nname: second\narms: {mixed: null}\n")
    study = load_study(tmp_path / "study.yaml")
    assert list(study.plan.arms) == ["start", "team", "shared"]
    assert (study.plan.name, study.plan.candidates) == ("second", 20)
