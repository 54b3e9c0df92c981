"""What the gate would say of a team that is evaluated already; nothing is registered or moved."""

import json
from typing import Any

from components.config import ExperimentConfig
from components.errors import StorageError
from components.manifests import committed, read_output
from components.policies import Team
from components.promotion.gate import Evidence, decide, read_evidence, tags_of
from components.state import read_state
from components.storage import Store
from components.tracking import registry


def would_promote(
    config: ExperimentConfig, store: Store, run: str, iteration: int
) -> dict[str, Any]:
    """The verdict as JSON, with `reference`: the team it would replace.

    StorageError if the team was not evaluated, TrackingError for a mixed champion.
    """
    state, champion = read_state(store, run, iteration), registry.champion(config)
    kind = "champion" if champion else "initial"
    reference = tags_of(champion.playing if champion else Team(state.initial, config.roles))
    evidence = _evidence(store, run, iteration, reference)
    verdict = decide(config, evidence, tags_of(state.team(config)), reference, kind)
    label = champion.label if champion else f"{run}@0"
    return verdict.to_json() | {"reference": label, "team": config.team_name}


def _evidence(store: Store, run: str, iteration: int, reference: dict[str, str]) -> Evidence:
    """Of the newest evaluation against this reference, else of the newest at all: the gate says
    that it is about another."""
    keys = [key for key, _ in reversed(committed(store, run, iteration, "evaluate"))]
    found = [read_evidence(json.loads(read_output(store, key, "report"))) for key in keys]
    if not found:
        raise StorageError(f"run {run!r}: no evaluation of iteration {iteration} in {store.uri}")
    return next((item for item in found if item.reference == reference), found[0])
