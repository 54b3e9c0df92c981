"""What a model card says, collected from a run's store: settings, curve, evaluation, licences."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.config import ExperimentConfig, parse_config
from components.errors import StorageError
from components.manifests import committed, read_manifest, read_output
from components.promotion.licences import licence_of
from components.state import TrainingState, read_state
from components.storage import Store
from components.tracking.manifest import TeamManifest

CURVE_POINTS = 11
"""Iterations of the curve, evenly spread, first and last included."""


@dataclass(frozen=True)
class Facts:
    """The sources of one card."""

    manifest: TeamManifest
    config: ExperimentConfig
    report: Mapping[str, Any]
    """Of the closing evaluation; empty if it is no longer stored."""
    curve: Mapping[int, float]
    """Iteration -> validation success of the team that it made."""
    licences: Mapping[str, str]
    """Policy -> licence of its base."""
    mlflow_run: str | None


def collect(
    store: Store, manifest: TeamManifest, state: TrainingState, config: ExperimentConfig,
    report: Mapping[str, Any],
) -> Facts:  # fmt: skip
    """The facts about a team whose state and report are at hand."""
    licences = {
        name: licence_of(store, base, state.initial[name]) for name, base in manifest.bases.items()
    }
    curve = curve_of(store, manifest.run, manifest.iteration)
    if report:
        curve[manifest.iteration] = report["benchmarks"]["validation"]["success"]
    run = state.mlflow.get("training_run_id")
    return Facts(manifest, config, report, curve, licences, run)


def collect_stored(store: Store, manifest: TeamManifest) -> Facts:
    """The facts about a registered team, from its store alone. StorageError if its run is gone."""
    run, iteration = manifest.run, manifest.iteration
    key = f"runs/{run}/config.json"
    if not store.exists(key):
        raise StorageError(
            f"team {manifest.team!r} {manifest.label}: its run is not in {store.uri}; was it "
            "moved? --store says where it is"
        )
    content: Any = json.loads(store.read(key))
    config = parse_config(content | {"storage": manifest.store.model_dump(mode="json")})
    state, report = read_state(store, run, iteration), stored_report(store, run, iteration)
    return collect(store, manifest, state, config, report or {})


def stored_report(store: Store, run: str, iteration: int) -> dict[str, Any] | None:
    """The report of the iteration's last closing evaluation; None if there was none."""
    found = committed(store, run, iteration, "evaluate")
    return dict(json.loads(read_output(store, found[-1][0], "report"))) if found else None


def curve_of(store: Store, run: str, last: int) -> dict[int, float]:
    """Validation success after some of the iterations: what the next one measured."""
    step = max(1, -(-last // (CURVE_POINTS - 1)))
    found = {}
    for iteration in sorted({*range(0, last, step), last}):
        try:
            steps = read_manifest(store, run, iteration + 1)
        except StorageError:
            continue
        for name in ("rollout", "evaluate_team"):
            measured = steps[name].metrics if name in steps else {}
            if "evaluation/validation/success" in measured:
                found[iteration] = measured["evaluation/validation/success"]
    return found
