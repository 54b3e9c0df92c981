"""Evaluation reports of known outcomes, in the evaluation step's own format."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.evaluation.report import benchmark_report, full_report
from components.evaluation.teams import contest
from components.members import open_members
from components.policies import Team
from components.records import Episode
from components.state import TrainingState, save_state
from envs.base import Status

GOOD = [True] * 90 + [False] * 10
BAD = [True] * 20 + [False] * 80


def make_report(
    config: ExperimentConfig,
    state: TrainingState,
    ours: Sequence[bool] = GOOD,
    theirs: Sequence[bool] = BAD,
    champion: Team | None = None,
) -> dict[str, Any]:
    """What `evaluate` writes when the teams solve these validation tasks."""
    outcomes = {"validation": ours, "validation/reference": theirs, "test": ours}
    benchmarks = {
        name: benchmark_report(_episodes(name, solved), [], 0.95)
        for name, solved in outcomes.items()
    }
    report = full_report(contest(config, state, champion), open_members(config), benchmarks, 0.95)
    return report | {"run": state.run, "iteration": state.iteration}


def write_inputs(
    folder: Path, state: TrainingState, report: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """The step's inputs and outputs as paths."""
    folder.mkdir(parents=True, exist_ok=True)
    save_state(folder / "state.json", state)
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "evaluation").write_bytes(b"")
    inputs = {"state": "state.json", "report": "report.json", "evaluation": "evaluation"}
    outputs = {"verdict": "verdict.json", "html": "verdict.html"}
    return (
        {name: str(folder / file) for name, file in inputs.items()},
        {name: str(folder / file) for name, file in outputs.items()},
    )


def _episodes(benchmark: str, solved: Sequence[bool]) -> list[Episode]:
    return [
        Episode(
            f"t{i}", f"t{i}", "tracer", benchmark, 0, 2,
            Status.SOLVED if success else Status.FAILED, float(success),
        )
        for i, success in enumerate(solved)
    ]  # fmt: skip
