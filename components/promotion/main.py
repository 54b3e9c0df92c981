"""The step promote: register the team as candidate, ask the gate, move the champion's aliases.

Safe to repeat, also after a crash at any point: the decision is in the audit log before aliases
move, and a repetition carries out the decision that it finds there, unless a later one overtook it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from components.tracking import closing, registry, teams
from components.tracking.manifest import TeamManifest, make_manifest

_ATTEMPTS = 20


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


@dataclass(frozen=True)
class Ruling:
    """What came of it."""

    verdict: Verdict
    entry: audit.Entry
    warnings: list[str] = field(default_factory=list)
    """For the person who asked; nothing that stops a promotion."""


def promote(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Inputs `state`, `evaluation`, `report`; outputs `verdict` (JSON) and `html`.

    Returns promotion/{promoted,gain,gain_low,gain_high} and the benchmarks' numbers. RecordError
    for a report of another run or iteration, TrackingError if the registry fails.
    """

    def compute(context: StepContext) -> dict[str, float]:
        case = _read(context, inputs)
        ruling = _judge(context, case)
        result = _result(context.config, ruling)
        metrics = _metrics(ruling.verdict, case.numbers)
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
    entries = audit.history(context.store, team)
    return Case(state, report, _numbers(report), key, entries, registry.champion(context.config))


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


def _judge(context: StepContext, case: Case) -> Ruling:
    """As `_ruled`; anew for as long as somebody else writes into the log in the meantime."""
    team = context.config.team_name
    for _ in range(_ATTEMPTS):
        if ruling := _ruled(context, case):
            return ruling
        entries = audit.history(context.store, team)  # first: then the aliases are no older
        case = replace(case, entries=entries, champion=registry.champion(context.config))
    raise TrackingError(f"team {team!r}: others promote it all the time; ask again later")


def _ruled(context: StepContext, case: Case) -> Ruling | None:
    """Decide, or find the decision; register; write it down; move the aliases if it says so.

    None if the log was written to since it was read: the decision was about an older champion.
    """
    config, store = context.config, context.store
    standing = audit.find(case.entries, case.key)
    team, number = config.team_name, audit.next_number(case.entries)
    if standing is None:
        check_settled(config, case.entries, case.champion)
    verdict = Verdict(**standing.gate) if standing else _decide(config, case)
    if standing is None and audit.next_number(audit.history(store, team)) != number:
        return None  # before a version is made of what no longer holds
    manifest = _register(context, case, verdict)
    entry = standing or audit.append_as(store, team, _entry(case, verdict, manifest), number)
    if entry is None:
        return None
    later = audit.later_champion(case.entries, entry.number)
    if verdict.promoted and later:
        return Ruling(superseded(verdict, later), entry)
    return Ruling(verdict, entry, _crown(context, manifest, entry) if verdict.promoted else [])


def check_settled(
    config: ExperimentConfig,
    entries: list[audit.Entry],
    champion: TeamManifest | None,
    own: str | None = None,
) -> None:
    """TrackingError if the log's last move is not carried out: who the champion is is not settled.

    Not if it is about `own`, the beginning of a key: who asks goes on with it. Nor if this registry
    never had that team: another one did, that is gone.
    """
    team = config.team_name
    move = audit.pending(entries, champion.versions if champion else None)
    if move is None or (own and move.key.startswith(own)):
        return
    version, label = move.after["versions"].get(team, ""), move.after["label"]
    if teams.label_of(config.tracking, team, version) != label:
        return
    at = f"at {champion.label}" if champion else "nowhere"
    raise TrackingError(
        f"team {team!r}: entry {move.number} of its audit log ({move.action}, "
        f"{label}) is not carried out, its alias 'champion' is {at}: a promotion or "
        "a rollback is under way, then ask again in a moment, or was cut short, or somebody moved "
        f"the alias: then `python -m pipelines rollback {team}` puts it where the log says"
    )


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


def _crown(context: StepContext, manifest: TeamManifest, entry: audit.Entry) -> list[str]:
    """Move `champion` on all models, or write down that it failed. Returns what to warn of."""
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
    warning = mirror(settings, manifest, context.config.promotion.model_registry_url)
    return [] if warning is None else [warning]


def _entry(case: Case, verdict: Verdict, manifest: TeamManifest) -> audit.Entry:
    before = case.champion and {"label": case.champion.label, "versions": case.champion.versions}
    after = {"label": manifest.label, "versions": manifest.versions}
    action = Action.PROMOTED if verdict.promoted else Action.REFUSED
    return audit.Entry(action, case.key, before or None, after, case.numbers, verdict.to_json())


def _result(config: ExperimentConfig, ruling: Ruling) -> dict[str, Any]:
    """The verdict as the step's output."""
    verdict, entry = ruling.verdict, ruling.entry
    moved = ["candidate", "champion"] if verdict.promoted else ["candidate"]
    aliases = [] if entry.before == entry.after else moved  # asked about the champion itself
    before = entry.before["label"] if entry.before else None
    return verdict.to_json() | {
        "schema_version": 1, "team": config.team_name, "from": before, "to": entry.after["label"],
        "versions": entry.after["versions"], "aliases": aliases, "audit": entry.number,
        "who": entry.who, "when": entry.when, "warnings": ruling.warnings,
    }  # fmt: skip


def _metrics(verdict: Verdict, numbers: Mapping[str, float]) -> dict[str, float]:
    return {f"promotion/{name}": value for name, value in numbers.items()} | {
        "promotion/promoted": float(verdict.promoted),
        "promotion/gain": verdict.gain,
        "promotion/gain_low": verdict.low,
        "promotion/gain_high": verdict.high,
    }
