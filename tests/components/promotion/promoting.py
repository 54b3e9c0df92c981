"""The step promote, run for teams of several iterations with a real registry and a real store."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.promotion import audit
from components.promotion.main import promote
from components.state import TrainingState, register_run, write_state
from components.storage import open_store
from components.tracking import log_iteration, registry
from components.tracking.connection import open_client
from tests.components.promotion.reports import BAD, GOOD, make_report, write_inputs
from tests.doubles.teams import make_config, stored_state

MODELS = ("traced.A", "traced.B", "traced")


class Step:
    """Runs promote for teams of several iterations."""

    def __init__(self, config: ExperimentConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.client = open_client(config.tracking)
        self.store = open_store(config.storage)
        self.ids: dict[str, str] = {}

    def state(self, iteration: int) -> TrainingState:
        self.ids = log_iteration(
            self.config,
            "r",
            iteration,
            {"a/b": 1.0},
            samples=None,
            episodes=None,
            previous=self.ids,
        )
        state = replace(stored_state(self.config, iteration), mlflow=self.ids)
        register_run(self.store, "r", self.config)
        write_state(self.store, state)
        return state

    def __call__(
        self, state: TrainingState, ours: Sequence[bool] = GOOD, theirs: Sequence[bool] = BAD
    ) -> dict[str, Any]:
        champion = registry.champion(self.config)
        playing = champion.playing if champion else None
        return self.run(state, make_report(self.config, state, ours, theirs, playing))

    def run(self, state: TrainingState, report: dict[str, Any]) -> dict[str, Any]:
        inputs, outputs = write_inputs(self.folder / "files", state, report)
        metrics = promote(self.config.to_json(), state.run, state.iteration, inputs, outputs)
        verdict: dict[str, Any] = json.loads(Path(outputs["verdict"]).read_text())
        assert metrics["promotion/promoted"] == verdict["promoted"]
        return verdict

    def aliases(self, alias: str) -> list[str | None]:
        found = registry.alias_versions(self.config.tracking, MODELS, alias)
        return [found[name] for name in MODELS]

    @property
    def log(self) -> list[audit.Entry]:
        return audit.history(self.store, "traced")


def prepared(blank: Path, folder: Path, iterations: Sequence[int]) -> Step:
    """The team promoted so often, once for many tests, which work on copies."""
    shutil.copy(blank, folder / "mlflow.db")
    step = Step(make_config(str(folder)), folder)
    for iteration in iterations:
        assert step(step.state(iteration))["promoted"]
    return step


def copied(step: Step, folder: Path) -> Step:
    """Registry and audit log apart from the original; the policies stay where they are."""
    shutil.copy(step.folder / "mlflow.db", folder / "mlflow.db")
    shutil.copytree(step.folder / "store", folder / "store")
    copy = Step(make_config(str(folder)), folder)
    copy.ids = step.ids
    return copy
