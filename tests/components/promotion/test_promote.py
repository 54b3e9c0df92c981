"""The step with a real MLflow registry and a real store."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from components.config import OPEN_ENDED
from components.errors import RecordError, TrackingError
from components.promotion import main
from components.promotion.audit import Action
from components.promotion.rollback import plan, rollback
from components.promotion.trial import reopen, would_promote
from components.state import TrainingState
from components.step import StepContext, run_step
from components.tracking import registry
from components.tracking.manifest import TeamManifest
from components.tracking.teams import card_uri
from pipelines.closing import verdict_text
from tests.components.promotion.promoting import MODELS, Step
from tests.components.promotion.reports import BAD, GOOD, make_report, write_inputs
from tests.components.tracking.stores import points


def back(step: Step, who: str = "") -> TeamManifest:
    """What is shown is carried out."""
    place = (step.store, step.config.tracking, "traced")
    return rollback(*place, plan(*place), who)


def test_first_champion(step: Step) -> None:
    state = step.state(3)
    verdict = step(state)
    assert verdict["promoted"] and verdict["from"] is None and verdict["to"] == "r@3"
    assert step.aliases("candidate") == step.aliases("champion") == ["1", "1", "1"]
    champion = registry.champion(step.config)
    assert champion is not None and champion.playing == state.team(step.config)
    assert champion.evaluation["validation/success"] == 0.9
    assert champion.env["name"] == step.config.env.name
    role = step.client.get_model_version("traced.A", "1")
    assert role.source == state.policies["a"].uri
    assert role.run_id == step.ids["training_run_id"]


def test_refused_team_is_candidate_only(step: Step) -> None:
    step(step.state(3))
    verdict = step(step.state(4), BAD, BAD)
    assert not verdict["promoted"] and verdict["from"] == "r@3"
    assert step.aliases("candidate") == ["2", "2", "2"]
    assert step.aliases("champion") == ["1", "1", "1"]
    assert [entry.action for entry in step.log] == [Action.PROMOTED, Action.REFUSED]


def test_training_run_gets_the_closing_numbers(step: Step) -> None:
    step(step.state(3))
    run = step.client.get_run(step.ids["training_run_id"])
    assert points(step.client, run.info.run_id, "promotion/test/success") == [(3, 0.9)]
    assert run.data.tags["rolewise.promotion"] == "promoted"


def test_a_run_that_a_budget_ends_is_finished_by_its_closing(step: Step) -> None:
    step.config = step.config.model_copy(update={"iterations": OPEN_ENDED})
    state = step.state(3)

    def status() -> str:
        return str(step.client.get_run(step.ids["training_run_id"]).info.status)

    assert status() == "RUNNING"
    assert step(state)["promoted"] and status() == "FINISHED"
    step.state(4)
    assert status() == "RUNNING"  # it went on


def test_repetition_changes_nothing(step: Step) -> None:
    state = step.state(3)
    report = make_report(step.config, state)
    first, second = step.run(state, report), step.run(state, report)
    assert first == second
    assert len(step.log) == 1
    assert step.aliases("champion") == ["1", "1", "1"]
    assert points(step.client, step.ids["training_run_id"], "promotion/gain") == [(3, 0.7)]


def test_all_aliases_go_back_if_one_cannot_move(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    step(step.state(3))
    state = step.state(4)
    champion = registry.champion(step.config)
    report = make_report(step.config, state, champion=champion and champion.playing)
    with monkeypatch.context() as patch:
        _fail_for(patch, "traced", "champion", "2")
        with pytest.raises(TrackingError, match="moving alias 'champion'.*disk on fire"):
            step.run(state, report)
    assert step.aliases("champion") == ["1", "1", "1"]
    assert [entry.action for entry in step.log][1:] == [Action.PROMOTED, Action.FAILED]
    assert step.run(state, report)["promoted"]
    assert step.aliases("champion") == ["2", "2", "2"]


def test_first_champion_leaves_no_alias_if_it_fails(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = step.state(3)
    with monkeypatch.context() as patch:
        _fail_for(patch, "traced.B", "champion", "1")
        with pytest.raises(TrackingError):
            step(state)
    assert step.aliases("champion") == [None, None, None]
    assert registry.champion(step.config) is None


def test_killed_between_log_and_aliases(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """And gone on with by other code: the fault was repaired in between."""
    state = step.state(3)
    report = make_report(step.config, state)
    monkeypatch.setenv("ROLEWISE_GIT_COMMIT", "a" * 40)
    with monkeypatch.context() as patch:
        _fail_for(patch, "traced.A", "champion", "1", KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            step.run(state, report)
    assert [entry.action for entry in step.log] == [Action.PROMOTED]
    monkeypatch.setenv("ROLEWISE_GIT_COMMIT", "b" * 40)
    assert step.run(state, report)["promoted"]
    assert step.aliases("champion") == ["1", "1", "1"]
    assert len(step.log) == 1


@pytest.mark.parametrize("moment", ["_decide", "_register"])
def test_of_two_promotions_at_a_time_the_second_is_asked_about_the_first(
    step: Step, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The other one is promoted after this one has read the log and the aliases."""
    first, second = step.state(3), step.state(4)
    reports = [make_report(step.config, state) for state in (first, second)]
    real, calls = getattr(main, moment), list[Any]()

    def late(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            assert step.run(first, reports[0])["promoted"]
        return real(*arguments)

    monkeypatch.setattr(main, moment, late)
    verdict = step.run(second, reports[1])
    assert not verdict["promoted"] and "the reference now is the champion" in verdict["reasons"][0]
    assert [(item.action, item.after["label"]) for item in step.log] == [
        (Action.PROMOTED, "r@3"), (Action.REFUSED, "r@4"),
    ]  # fmt: skip
    champion = registry.champion(step.config)
    assert champion is not None and champion.label == "r@3"


def test_a_promotion_that_was_cut_short_holds_up_the_next(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    step(step.state(3))
    with monkeypatch.context() as patch:
        _fail_for(patch, "traced.A", "champion", "2", KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            step(step.state(4))
    with pytest.raises(TrackingError, match=r"entry 2 .*r@4\) is not carried out, .* is at r@3"):
        step(step.state(5))
    assert len(step.log) == 2
    assert back(step).label == "r@4"
    assert step(step.state(5))["promoted"]


def test_the_commit_is_that_of_training(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLEWISE_GIT_COMMIT", "a" * 40)
    state = step.state(3)
    monkeypatch.setenv("ROLEWISE_GIT_COMMIT", "b" * 40)
    step(state)
    champion = registry.champion(step.config)
    assert champion is not None and champion.git_commit == "a" * 40


def test_a_mirror_that_is_down_is_told_in_the_verdict(step: Step) -> None:
    promotion = step.config.promotion.model_copy(
        update={"model_registry_url": "http://127.0.0.1:9"}
    )
    step.config = step.config.model_copy(update={"promotion": promotion})
    verdict = step(step.state(3))
    (warning,) = verdict["warnings"]
    assert "pipelines register traced@champion --model-registry http://127.0.0.1:9" in warning
    assert verdict_text(verdict).splitlines()[1] == f"warning: {warning}"


def test_mixed_champion_is_refused_by_name(step: Step) -> None:
    step(step.state(3))
    step(step.state(4))
    step.client.set_registered_model_alias("traced.B", "champion", "1")
    with pytest.raises(
        TrackingError, match=r"mixture, not r@4: role 'B' is at version 1 .* expected 2"
    ):
        registry.champion(step.config)
    assert back(step, "kim").label == "r@4"
    assert step.aliases("champion") == ["2", "2", "2"]
    repair = step.log[-1]
    assert (repair.action, repair.who) == (Action.REPAIRED, "kim")
    assert repair.before == repair.after and repair.after["label"] == "r@4"
    assert back(step).label == "r@3"  # a repair is no champion to go back to


def test_asking_about_the_champion_itself_registers_nothing(step: Step) -> None:
    state = step.state(3)
    assert step(state)["promoted"]
    assert step(step.state(4), BAD, GOOD)["aliases"] == ["candidate"]
    verdict = step(state)
    assert not verdict["promoted"] and "the team is the champion team itself" in verdict["reasons"]
    assert verdict["versions"] == dict.fromkeys(MODELS, "1") and verdict["aliases"] == []
    assert step.aliases("candidate") == ["2", "2", "2"]
    assert len(step.client.search_model_versions("name = 'traced'")) == 2
    assert [entry.action for entry in step.log[1:]] == [Action.REFUSED, Action.REFUSED]


def test_every_version_keeps_its_own_card(step: Step) -> None:
    state = step.state(3)
    assert step(state)["promoted"]
    first = registry.read_alias(step.config.tracking, "traced", "champion")
    assert step(step.state(4))["promoted"]
    assert not step(state, BAD, GOOD)["promoted"]  # the same team against the next champion
    again = registry.read_alias(step.config.tracking, "traced", "candidate")
    assert first and again and (first.label, again.label) == ("r@3", "r@3")
    cards = [Path(str(card_uri(step.config.tracking, team))[7:]) for team in (first, again)]
    assert "The gate refused" not in cards[0].read_text()
    assert "The gate refused" in cards[1].read_text()
    kept = TeamManifest.from_json((cards[0].parent / "manifest.json").read_text())
    assert kept.gate["promoted"] and kept.policies == again.policies


def test_rollback_goes_back_step_by_step(step: Step) -> None:
    for iteration in (3, 4, 5):
        assert step(step.state(iteration))["promoted"]
    assert back(step, "kim").label == "r@4"
    assert step.aliases("champion") == ["2", "2", "2"]
    assert back(step).label == "r@3"
    with pytest.raises(TrackingError, match="no earlier champion"):
        back(step)
    entry = step.log[3]
    assert (entry.action, entry.who) == (Action.ROLLED_BACK, "kim")
    assert entry.before and entry.before["label"] == "r@5" and entry.after["label"] == "r@4"


def test_only_the_rollback_that_was_shown_is_carried_out(step: Step) -> None:
    for iteration in (3, 4):
        step(step.state(iteration))
    place = (step.store, step.config.tracking, "traced")
    shown = plan(*place)
    assert not step(step.state(5), BAD, BAD)["promoted"]  # a refusal changes nothing of it
    step(step.state(6))
    with pytest.raises(TrackingError, match=r"not r@4 -> r@3 any more; nothing was moved"):
        rollback(*place, shown)
    assert step.aliases("champion") == ["4", "4", "4"] and len(step.log) == 4
    shown = plan(*place)
    registry.move_alias(  # by hand, while somebody is asked
        step.config.tracking, registry.read_version(step.config.tracking, "traced", "1"), "champion"
    )
    with pytest.raises(TrackingError, match="nothing was moved"):
        rollback(*place, shown)
    assert step.aliases("champion") == ["1", "1", "1"] and len(step.log) == 4


def test_of_two_rollbacks_at_a_time_one_goes_back(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    for iteration in (3, 4, 5):
        step(step.state(iteration))
    place = (step.store, step.config.tracking, "traced")
    shown = plan(*place)
    assert back(step).label == "r@4"
    monkeypatch.setattr("components.promotion.rollback.plan", lambda *_: shown)  # read before
    with pytest.raises(TrackingError, match="nothing was moved"):
        rollback(*place, shown)
    assert step.aliases("champion") == ["2", "2", "2"] and len(step.log) == 4


def test_repeated_promotion_does_not_undo_a_rollback(step: Step) -> None:
    step(step.state(3))
    state = step.state(4)
    champion = registry.champion(step.config)
    report = make_report(step.config, state, champion=champion and champion.playing)
    step.run(state, report)
    back(step)
    verdict = step.run(state, report)
    assert not verdict["promoted"] and "audit entry 3" in verdict["reasons"][0]
    assert step.aliases("champion") == ["1", "1", "1"]


def evaluated(step: Step, state: TrainingState, report: dict[str, Any]) -> None:
    """The evaluation that `step.run` promotes by, as its own step commits it."""
    inputs, _ = write_inputs(step.folder / "evaluated", state, report)
    outputs = {name: str(step.folder / name) for name in ("report", "evaluation")}

    def compute(_: StepContext) -> dict[str, float]:
        Path(outputs["report"]).write_bytes(Path(inputs["report"]).read_bytes())
        Path(outputs["evaluation"]).write_bytes(b"")
        return {}

    given = {"state": inputs["state"]}
    run_step("evaluate", step.config.to_json(), "r", state.iteration, given, outputs, compute)


def test_a_person_may_ask_anew_after_a_rollback(step: Step) -> None:
    step(step.state(3))
    state = step.state(4)
    champion = registry.champion(step.config)
    report = make_report(step.config, state, champion=champion and champion.playing)
    evaluated(step, state, report)
    place = (step.config, step.store, "r", 4)
    step.run(state, report)
    reopen(*place)  # nothing was undone
    assert [entry.action for entry in step.log] == [Action.PROMOTED, Action.PROMOTED]

    back(step)
    verdict = would_promote(*place)
    assert not verdict["promoted"]
    assert "audit entry 3 (rolled_back) came after it; `promote --again`" in verdict["reasons"][0]
    assert would_promote(*place, again=True)["promoted"]
    assert not step.run(state, report)["promoted"]

    reopen(*place)
    reopen(*place)
    assert [entry.action for entry in step.log][2:] == [Action.ROLLED_BACK, Action.REOPENED]
    assert step.run(state, report)["promoted"]
    assert step.aliases("champion") == ["2", "2", "2"]
    assert step.run(state, report)["promoted"] and len(step.log) == 5
    back(step)
    assert step.aliases("champion") == ["1", "1", "1"]


def test_report_of_another_iteration_is_an_error(step: Step) -> None:
    report = make_report(step.config, step.state(3))
    with pytest.raises(RecordError, match=r"\('r', 3\), expected \('r', 4\)"):
        step.run(step.state(4), report)


def test_page_escapes_and_shows_the_numbers(step: Step) -> None:
    step(step.state(3))
    page = (step.folder / "files" / "verdict.html").read_text()
    assert "promoted" in page and "90.0 %" in page and "r@3" in page


def test_component_passes_files_and_metrics(step: Step) -> None:
    from kfp import dsl

    from components.promotion.component import promote as component

    state = step.state(3)
    inputs, outputs = write_inputs(step.folder / "files", state, make_report(step.config, state))
    artifacts = {name: dsl.Artifact(uri=path) for name, path in (inputs | outputs).items()}
    metrics = dsl.Metrics(uri=str(step.folder / "metrics"))
    component.python_func(step.config.to_json(), "r", 3, metrics=metrics, **artifacts)
    assert metrics.metadata["promotion/promoted"] == 1.0
    assert json.loads(Path(outputs["verdict"]).read_text())["promoted"]


def test_import_is_light() -> None:
    code = "import sys, components.promotion.main; print('mlflow' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def _fail_for(
    patch: pytest.MonkeyPatch,
    model: str,
    alias: str,
    version: str,
    error: type[BaseException] = OSError,
) -> None:
    """MLflow's own client, but moving this alias of this model to this version fails."""
    from mlflow.client import MlflowClient

    move = MlflowClient.set_registered_model_alias

    def moving(client: Any, name: str, label: str, number: str) -> None:
        if (name, label, number) == (model, alias, version):
            raise error("disk on fire")
        move(client, name, label, number)

    patch.setattr(MlflowClient, "set_registered_model_alias", moving)
