"""The step promote: register the team as candidate, ask the gate, move the champion's aliases.

Safe to repeat, also after a crash at any point: the decision is in the audit log before aliases
move, and a repetition carries out the decision that it finds there, unless a later one overtook it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.errors import RecordError, TrackingError
from components.policies import Team
from components.promotion import audit
from components.promotion.audit import Action
from components.promotion.card import model_card
from components.promotion.facts import collect
from components.promotion.gate import Verdict, decide, read_evidence, tags_of
from components.promotion.mirror import mirror
from components.promotion.page import verdict_page
from components.promotion.pins import env_pins, policy_pins
from components.state import TrainingState, load_state
from components.step import StepContext, run_step
from components.tracking import closing, registry
from components.tracking.manifest import TeamManifest, make_manifest


@dataclass(frozen=True)
class Case:
    """All that a decision is about."""

    state: TrainingState
    report: dict[str, Any]
    numbers: dict[str, float]
    """`<benchmark>/<name>` -> value."""
    key: str
    """`<run>/<iteration>/<report digest>`, the decision's name in the audit log."""
    entries: list[audit.Entry]
    champion: TeamManifest | None


def promote(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Inputs `state`, `evaluation`, `report`; outputs `verdict` (JSON) and `html`.

    Returns promotion/{promoted,gain,gain_low,gain_high} and the benchmarks' numbers. RecordError
    for a report of another run or iteration, TrackingError if the registry fails.
    """

    def compute(context: StepContext) -> dict[str, float]:
        case = _read(context, inputs)
        verdict, entry = _judge(context, case)
        result = _result(context.config, verdict, entry)
        metrics = _metrics(verdict, case.numbers)
        closing.log_closing(context.config, case.state.mlflow, iteration, metrics, result)
        Path(outputs["verdict"]).write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
        Path(outputs["html"]).write_text(verdict_page(context.config, case.report, result))
        return metrics

    return run_step("promote", config, run, iteration, inputs, outputs, compute, memo=False)


def _read(context: StepContext, inputs: Mapping[str, str]) -> Case:
    data = Path(inputs["report"]).read_bytes()
    report, state = json.loads(data), load_state(inputs["state"])
    found = (report.get("run"), report.get("iteration"))
    expected = (state.run, state.iteration)
    if found != expected:
        raise RecordError(
            f"report {inputs['report']}: of run, iteration {found}, expected {expected}"
        )
    team = context.config.team_name
    key = audit.decision_key(state.run, state.iteration, data)
    champion = registry.champion(context.config)
    return Case(state, report, _numbers(report), key, audit.history(context.store, team), champion)


def _numbers(report: Mapping[str, Any]) -> dict[str, float]:
    """`<benchmark>/<name>` -> value; bounds are those of success."""
    names = {
        "success": "success", "low": "success_low", "high": "success_high",
        "turns_mean": "turns/mean", "num_tasks": "num_tasks",
    }  # fmt: skip
    return {
        f"{benchmark}/{name}": float(values[key])
        for benchmark, values in report["benchmarks"].items()
        for key, name in names.items()
    }


def _judge(context: StepContext, case: Case) -> tuple[Verdict, audit.Entry]:
    """Decide, or find the decision; register; write it down; move the aliases if it says so."""
    config = context.config
    standing = audit.find(case.entries, case.key)
    verdict = Verdict(**standing.gate) if standing else _decide(config, case)
    manifest = _register(context, case, verdict)
    entry = standing or audit.append(
        context.store, config.team_name, _entry(case, verdict, manifest)
    )
    later = audit.later_champion(case.entries, entry.number)
    if verdict.promoted and later:
        return superseded(verdict, later), entry
    if verdict.promoted:
        _crown(context, manifest, entry)
    return verdict, entry


def superseded(verdict: Verdict, later: audit.Entry) -> Verdict:
    """A promotion that something undid: a step that comes late must not undo that in turn."""
    reason = (
        f"the team was promoted before, but audit entry {later.number} ({later.action}) came after "
        "it; `promote --again` asks anew"
    )
    return replace(verdict, promoted=False, reasons=[reason])


def _decide(config: ExperimentConfig, case: Case) -> Verdict:
    kind = "champion" if case.champion else "initial"
    reference = case.champion.playing if case.champion else Team(case.state.initial, config.roles)
    return decide(
        config,
        read_evidence(case.report),
        tags_of(case.state.team(config)),
        tags_of(reference),
        kind,
    )


def _register(context: StepContext, case: Case, verdict: Verdict) -> TeamManifest:
    """The team's versions, its alias `candidate` moved there; the champion itself has its own."""
    config, state = context.config, case.state
    if case.champion and not verdict.promoted and _is_that(config, case.champion, state):
        return case.champion
    manifest = make_manifest(
        config, state.run, state.iteration, state.policies, policy_pins(context.store, state),
        env_pins(config), case.numbers, verdict.to_json(),
    )  # fmt: skip
    card = model_card(collect(context.store, manifest, state, config, case.report))
    run = state.mlflow.get("training_run_id")
    manifest = registry.register(config.tracking, manifest, run, card)
    registry.move_alias(config.tracking, manifest, registry.CANDIDATE)
    return manifest


def _is_that(config: ExperimentConfig, team: TeamManifest, state: TrainingState) -> bool:
    """Whether a registered team is the one of this state."""
    here = (state.run, state.iteration)
    return here == (team.run, team.iteration) and tags_of(team.playing) == tags_of(
        state.team(config)
    )


def _crown(context: StepContext, manifest: TeamManifest, entry: audit.Entry) -> None:
    """Move `champion` on all models, or write down that it failed."""
    settings = context.config.tracking
    try:
        registry.move_alias(settings, manifest, registry.CHAMPION)
    except TrackingError as error:
        failed = audit.Entry(
            Action.FAILED, entry.key, entry.before, entry.after, gate={"error": str(error)}
        )
        audit.append(context.store, context.config.team_name, failed)
        raise
    registry.mark_champion(settings, manifest, entry.when)
    mirror(settings, manifest, context.config.promotion.model_registry_url)


def _entry(case: Case, verdict: Verdict, manifest: TeamManifest) -> audit.Entry:
    before = case.champion and {"label": case.champion.label, "versions": case.champion.versions}
    after = {"label": manifest.label, "versions": manifest.versions}
    action = Action.PROMOTED if verdict.promoted else Action.REFUSED
    return audit.Entry(action, case.key, before or None, after, case.numbers, verdict.to_json())


def _result(config: ExperimentConfig, verdict: Verdict, entry: audit.Entry) -> dict[str, Any]:
    """The verdict as the step's output."""
    moved = ["candidate", "champion"] if verdict.promoted else ["candidate"]
    aliases = [] if entry.before == entry.after else moved  # asked about the champion itself
    before = entry.before["label"] if entry.before else None
    return verdict.to_json() | {
        "schema_version": 1, "team": config.team_name, "from": before, "to": entry.after["label"],
        "versions": entry.after["versions"], "aliases": aliases, "audit": entry.number,
        "who": entry.who, "when": entry.when,
    }  # fmt: skip


def _metrics(verdict: Verdict, numbers: Mapping[str, float]) -> dict[str, float]:
    return {f"promotion/{name}": value for name, value in numbers.items()} | {
        "promotion/promoted": float(verdict.promoted),
        "promotion/gain": verdict.gain,
        "promotion/gain_low": verdict.low,
        "promotion/gain_high": verdict.high,
    }
