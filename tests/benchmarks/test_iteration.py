"""How an iteration's time is split, on made-up metrics."""

import pytest

from tests.benchmarks import measured as measuring
from tests.benchmarks.bench_iteration import overhead_cpu_share, rows, split, start_cpu_s
from tests.benchmarks.measured import Measured

METRICS = {
    "rollout/generate_s": 4.0, "rollout/environment_s": 1.0, "rollout/load_s": 2.5,
    "evaluation/validation/generate_s": 2.0, "evaluation/validation/environment_s": 0.5,
    "system/rollout/start_s": 1.0, "system/rollout/start_cpu_s": 0.5,
    "system/rollout/wall_s": 13.0, "system/rollout/cpu_s": 12.0,
    "system/rollout/load_s": 3.0, "system/rollout/load_cpu_s": 2.5,
    "system/rollout/storage_s": 1.5, "system/rollout/storage_cpu_s": 0.25,
    "system/rollout/peak_memory_mib": 700.0,
    "update/tool/load_s": 1.0, "update/tool/load_cpu_s": 0.5,
    "update/planner/load_s": 1.5, "update/planner/load_cpu_s": 0.75,
    "system/update/start_s": 0.5, "system/update/start_cpu_s": 0.25,
    "system/update/wall_s": 10.0, "system/update/cpu_s": 9.0,
    "system/update/load_s": 2.0, "system/update/load_cpu_s": 1.5,
    "system/update/storage_s": 0.5, "system/update/storage_cpu_s": 0.25,
    "system/commit/start_s": 0.5, "system/commit/start_cpu_s": 0.25,
    "system/commit/wall_s": 3.0, "system/commit/cpu_s": 2.0,
    "system/commit/storage_s": 0.25, "system/commit/storage_cpu_s": 0.25,
    "system/commit/tracking_s": 2.0, "system/commit/tracking_cpu_s": 1.0,
}  # fmt: skip
FOUND = Measured(32.0, 28.0, METRICS)


def test_the_parts_are_told_apart_and_add_up() -> None:
    parts = split(METRICS, FOUND.wall_s)
    assert parts == {
        "generation": 4.0, "environment": 1.0, "evaluation": 2.5, "update": 6.0,
        "process starts": 8.5, "storage": 2.25, "tracking": 2.0, "other work of the steps": 1.75,
        "runner": 4.0,
    }  # fmt: skip
    assert sum(parts.values()) == FOUND.wall_s


def test_cpu_seconds() -> None:
    assert start_cpu_s(METRICS) == 1.0 + 4.0 + 1.25
    assert overhead_cpu_share(FOUND) == (28.0 - 24.0 + 0.75 + 1.0) / 28.0


def test_goals_are_for_the_overhead_and_the_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.bench_iteration.measured", lambda: FOUND)
    *parts, share, starts = rows()
    assert all(row["met"] is None and row["other"] == 32.0 for row in parts)
    assert share["ours"] == 8.25 / 32.0 and share["met"] is False
    assert starts["ours"] == 6.25 and starts["met"] is True


def test_steps_by_name() -> None:
    found = measuring.by_step({"system/update-tool/wall_s": 1.0, "update/tool/loss": 2.0})
    assert found == {"update-tool": {"wall_s": 1.0}}
