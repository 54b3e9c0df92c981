"""Held-out answers in the store: by step and benchmark, replaced by a repetition, read back."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from components.answers import keep_answers, kept_answers
from components.records import Scored, to_table
from components.settings import StorageConfig
from components.storage import open_store
from tests.components.reporting.viewer.rows import make_group


def test_answers_come_back_by_step_and_benchmark(tmp_path: Path) -> None:
    store = open_store(StorageConfig(uri=f"file://{tmp_path}/store"))
    step: Any = SimpleNamespace(run="r", iteration=3, name="evaluate", store=store)
    scored = [sample.scored for sample in make_group("maze/validation/0", rewards=(1.0,))]
    for _ in range(2):
        keep_answers(step, "validation/swapped", scored)
    keep_answers(step, "validation", [])
    found = kept_answers(store, "r", 3)
    assert found["evaluate", "validation/swapped"].equals(to_table(Scored, scored))
    assert found["evaluate", "validation"].num_rows == 0
    assert kept_answers(store, "r", 2) == {}
