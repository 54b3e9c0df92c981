"""The gate: may a team become the champion? A pure function of the evaluation's report.

It passes iff the lower bound of the 95 % interval of the paired success difference on the same
validation tasks is above `promotion.min_gain`, and the report is about exactly the teams in
question. The interval is computed here, from the outcomes by task.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from components.config import ExperimentConfig
from components.errors import RecordError
from components.intervals import PairedDifference, paired_difference, weighted_difference
from components.members import evaluation_shares
from components.policies import Team

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Evidence:
    """What the gate takes from the evaluation's report."""

    team: dict[str, str]
    """role -> `PolicyRef.tag` of the policy that played it."""
    reference: dict[str, str]
    """The same of the team it was compared to."""
    reference_kind: str
    """`champion` or `initial`."""
    solved: dict[str, bool]
    """Validation task -> whether the team solved it."""
    reference_solved: dict[str, bool]
    strata: dict[str, set[str]] = field(default_factory=dict)
    """Environment -> its validation tasks, where there are several."""


@dataclass(frozen=True)
class Verdict:
    """The gate's answer, with the reasons as sentences."""

    promoted: bool
    reasons: list[str]
    gain: float
    """Success of the team minus success of the reference, on the same tasks, in [-1, 1]."""
    low: float
    high: float
    confidence: float
    num_tasks: int
    wins: int
    """Tasks that only the team solved."""
    losses: int
    """Tasks that only the reference solved."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `Verdict(**value)` is its inverse."""
        return asdict(self)


def read_evidence(report: Mapping[str, Any]) -> Evidence:
    """The gate's part of a report. RecordError names a missing or malformed field."""
    version = report.get("schema_version")
    if version != 1:
        raise RecordError(f"evaluation report: schema_version {version!r}, expected 1")
    try:
        teams = {
            name: {role: str(played["tag"]) for role, played in report["teams"][name].items()}
            for name in ("candidate", "reference")
        }
        solved = {
            name: {
                task: bool(value) for task, value in report["benchmarks"][name]["outcomes"].items()
            }
            for name in ("validation", "validation/reference")
        }
        strata = {
            name: set(report["benchmarks"][f"validation/{name}"]["outcomes"])
            for name in report.get("strata", [])
        }
        kind = str(report["reference"])
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"evaluation report: bad field {error}; got {sorted(report)}") from error
    return Evidence(
        teams["candidate"], teams["reference"], kind, solved["validation"],
        solved["validation/reference"], strata,
    )  # fmt: skip


def paired(evidence: Evidence, shares: Mapping[str, Fraction]) -> PairedDifference:
    """The paired difference at 95 %. RecordError unless both teams played the same tasks.

    Of several environments the mean of their differences by `shares`.
    """
    ours, theirs = evidence.solved, evidence.reference_solved
    if set(ours) != set(theirs) or not ours:
        raise RecordError(
            f"evaluation report: {len(ours)} and {len(theirs)} validation tasks, of which "
            f"{len(set(ours) & set(theirs))} are common; expected the same tasks, at least one"
        )
    strata = evidence.strata
    counted = sorted(task for tasks in strata.values() for task in tasks)
    if set(strata) != set(shares) or (strata and counted != sorted(ours)):
        raise RecordError(
            f"evaluation report: {len(ours)} tasks, {len(counted)} of them of environments "
            f"{sorted(strata) or 'not named'}; expected each once of {sorted(shares) or 'no other'}"
        )
    parts = by_environment(evidence)
    if not strata:
        return parts[""]
    return weighted_difference([(float(share), parts[name]) for name, share in shares.items()])


def by_environment(evidence: Evidence) -> dict[str, PairedDifference]:
    """Environment -> paired difference on its tasks; of one environment under the empty name."""
    strata = evidence.strata or {"": set(evidence.solved)}
    return {
        name: paired_difference(
            [evidence.solved[task] for task in sorted(tasks)],
            [evidence.reference_solved[task] for task in sorted(tasks)],
            CONFIDENCE,
        )
        for name, tasks in strata.items()
    }


def tags_of(team: Team) -> dict[str, str]:
    """role -> policy tag: two teams are the same iff these are equal."""
    return {role: team.of(role).tag for role in team.roles}


def decide(
    config: ExperimentConfig,
    evidence: Evidence,
    team: Mapping[str, str],
    reference: Mapping[str, str],
    kind: str,
) -> Verdict:
    """Judge `team` (role -> tag) against `reference`, which is the `kind` (champion or initial).

    Every objection becomes a sentence; without any, the team passes.
    """
    shares = evaluation_shares(config) if len(config.envs) > 1 else {}
    gain, need = paired(evidence, shares), config.promotion.min_gain
    parts = by_environment(evidence) if evidence.strata else {}
    objections = [
        *_objections_to_training(config),
        *_objections_to_report(evidence, team, reference, kind),
        *([] if gain.low > need else [_sentence(gain, need, kind, "not above", parts)]),
    ]
    reasons = objections or [_sentence(gain, need, kind, "above", parts)]
    return Verdict(
        not objections, reasons, gain.estimate, gain.low, gain.high, CONFIDENCE, gain.num_tasks,
        gain.wins, gain.losses,
    )  # fmt: skip


def _objections_to_training(config: ExperimentConfig) -> list[str]:
    if not config.grouping.allow_impure:
        return []
    return [
        f"grouping.allow_impure is set (key {config.grouping.key}): groups may mix prompts, and "
        "such a team cannot be promoted"
    ]


def _objections_to_report(
    evidence: Evidence, team: Mapping[str, str], reference: Mapping[str, str], kind: str
) -> list[str]:
    lines = _mismatch("the team", evidence.team, team)
    if evidence.reference_kind != kind:
        lines.append(
            f"the report compares to the {evidence.reference_kind} team, but the reference now is "
            f"the {kind} team: evaluate again"
        )
    lines += _mismatch(f"the {kind} team", evidence.reference, reference)
    if dict(team) == dict(reference):
        lines.append(f"the team is the {kind} team itself")
    return lines


def _mismatch(what: str, found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """One sentence per role that another policy played: swapped or mixed teams end here."""
    return [
        f"the report was made with {found.get(role, 'no policy')} as {role}, "
        f"{what} has {expected.get(role, 'no such role')}"
        for role in sorted({*found, *expected})
        if found.get(role) != expected.get(role)
    ]


def _sentence(
    gain: PairedDifference,
    need: float,
    kind: str,
    place: str,
    parts: Mapping[str, PairedDifference],
) -> str:
    """`parts`: of each environment, where there are several."""
    each = ", ".join(f"{name} {100 * part.estimate:+.1f}" for name, part in parts.items())
    interval = f"{100 * CONFIDENCE:g} % interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f}"
    return (
        f"success changes by {100 * gain.estimate:+.1f} points against the {kind} team on "
        f"{gain.num_tasks} validation tasks ({gain.wins} won, {gain.losses} lost"
        f"{f'; {each}, weighted' if each else ''}); the lower bound "
        f"of the {interval} is {place} {100 * need:g}"
    )
