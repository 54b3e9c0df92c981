"""A dry run asks the gate and leaves nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig
from components.errors import StorageError
from components.promotion import audit
from components.promotion.trial import would_promote
from components.state import save_state, write_state
from components.step import StepContext, run_step
from components.storage import open_store
from tests.components.promotion.reports import BAD, GOOD, make_report
from tests.components.tracking.stores import Tracked
from tests.doubles.teams import make_state


def evaluated(config: ExperimentConfig, folder: Path, ours: Sequence[bool]) -> None:
    """The closing evaluation of iteration 3 as its step commits it."""
    state = make_state(config, 3)
    write_state(open_store(config.storage), state)
    save_state(folder / "state.json", state)
    report = make_report(config, state, ours, BAD)

    def compute(step: StepContext) -> Mapping[str, float]:
        (folder / "report").write_text(json.dumps(report))
        (folder / "evaluation").write_bytes(b"")
        return {}

    outputs = {name: str(folder / name) for name in ("report", "evaluation")}
    inputs = {"state": str(folder / "state.json")}
    run_step("evaluate", config.to_json(), "r", 3, inputs, outputs, compute)


@pytest.mark.parametrize(("ours", "promoted"), [(GOOD, True), (BAD, False)])
def test_the_verdict_is_the_gates_and_nothing_moves(
    ours: Any, promoted: bool, tracked: Tracked, tmp_path: Path
) -> None:
    config = tracked()
    evaluated(config, tmp_path, ours)
    store = open_store(config.storage)
    verdict = would_promote(config, store, "r", 3)
    assert (verdict["promoted"], verdict["reference"]) == (promoted, None)
    assert audit.history(store, "traced") == []


def test_what_was_not_evaluated_cannot_be_judged(tracked: Tracked, tmp_path: Path) -> None:
    config = tracked()
    store = open_store(config.storage)
    write_state(store, make_state(config, 3))
    with pytest.raises(StorageError, match="no evaluation of iteration 3"):
        would_promote(config, store, "r", 3)
