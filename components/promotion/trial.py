"""What the gate would say of a team that is evaluated already; asking it anew after a rollback."""

import json
from typing import Any

from components.config import ExperimentConfig
from components.errors import StorageError
from components.manifests import committed, read_output
from components.policies import Team
from components.promotion import audit
from components.promotion.gate import Evidence, decide, read_evidence, tags_of
from components.promotion.main import superseded
from components.state import read_state
from components.storage import Store
from components.tracking import registry
from components.tracking.manifest import TeamManifest


def would_promote(
    config: ExperimentConfig, store: Store, run: str, iteration: int, again: bool = False
) -> dict[str, Any]:
    """The verdict as JSON, with `reference`: the team it would replace, None if there is none.

    A promotion that something undid is refused, unless it is asked for `again`. StorageError if
    the team was not evaluated, TrackingError for a mixed champion.
    """
    champion, reference, evidence, key = _asked(config, store, run, iteration)
    state, kind = read_state(store, run, iteration), "champion" if champion else "initial"
    verdict = decide(config, evidence, tags_of(state.team(config)), reference, kind)
    later = audit.undone(audit.history(store, config.team_name), key)
    if verdict.promoted and later and not again:
        verdict = superseded(verdict, later)
    label = champion.label if champion else None
    return verdict.to_json() | {"reference": label, "team": config.team_name}


def reopen(config: ExperimentConfig, store: Store, run: str, iteration: int) -> None:
    """Let the gate decide anew about an evaluated team whose promotion was undone.

    Written into the audit log; nothing if no such decision stands. StorageError if the team was
    not evaluated.
    """
    *_, key = _asked(config, store, run, iteration)
    entries = audit.history(store, config.team_name)
    standing = audit.find(entries, key)
    if standing and audit.undone(entries, key):
        entry = audit.Entry(audit.Action.REOPENED, key, standing.before, standing.after)
        audit.append(store, config.team_name, entry)


def _asked(
    config: ExperimentConfig, store: Store, run: str, iteration: int
) -> tuple[TeamManifest | None, dict[str, str], Evidence, str]:
    """The champion, what its policies are (at first the run's initial ones), the evidence against
    it, and the name of the decision about that."""
    champion = registry.champion(config)
    initial = read_state(store, run, iteration).initial
    reference = tags_of(champion.playing if champion else Team(initial, config.roles))
    return champion, reference, *_evidence(store, run, iteration, reference)


def _evidence(
    store: Store, run: str, iteration: int, reference: dict[str, str]
) -> tuple[Evidence, str]:
    """Of the newest evaluation against this reference, else of the newest at all (the gate says
    that it is about another), and the name of the decision about it."""
    keys = [key for key, _ in reversed(committed(store, run, iteration, "evaluate"))]
    texts = [read_output(store, key, "report") for key in keys]
    found = [
        (read_evidence(json.loads(text)), audit.decision_key(run, iteration, text))
        for text in texts
    ]
    if not found:
        raise StorageError(f"run {run!r}: no evaluation of iteration {iteration} in {store.uri}")
    return next((item for item in found if item[0].reference == reference), found[0])
