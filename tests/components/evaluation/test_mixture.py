"""Several environments in the evaluation and at the gate: each alone, and the declared mean."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig, parse_config
from components.errors import RecordError
from components.intervals import paired_difference, wilson
from components.policies import Team
from components.promotion.gate import Evidence, Verdict, decide, read_evidence, tags_of
from components.state import TrainingState
from tests.components.evaluation.test_main import Stand, run
from tests.doubles.teams import TRACER, make_config, make_state

SOLVABLE = {"name": TRACER, "options": {"endings": {"B9": "solved"}}, "weight": 3}
HARD = {"name": TRACER, "weight": 1, "num_evaluation_tasks": 4}


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    return Stand(monkeypatch)


def mixed(folder: Path, **sections: Any) -> ExperimentConfig:
    """`easy` counts three times as much as `hard`."""
    single = make_config(str(folder)).model_dump(mode="json", exclude={"env"})
    envs = {"easy": SOLVABLE, "hard": HARD}
    return parse_config(single | {"envs": envs, "evaluation": {"num_tasks": 6}} | sections)


def test_the_report_has_every_environment_and_the_mean(tmp_path: Path, stand: Stand) -> None:
    benchmarks = {"again": {"env": "hard", "options": {"endings": {"B9": "solved"}}}}
    evaluation = {"num_tasks": 6, "swapped": True, "benchmarks": benchmarks}
    report, metrics = run(mixed(tmp_path, evaluation=evaluation), tmp_path)
    success = {name: values["success"] for name, values in report["benchmarks"].items()}
    assert success == {
        "validation": 0.75, "validation/easy": 1.0, "validation/hard": 0.0,
        "validation/reference": 0.0, "validation/reference/easy": 0.0,
        "validation/reference/hard": 0.0,
        "validation/swapped": 0.0, "validation/swapped/easy": 0.0, "validation/swapped/hard": 0.0,
        "test": 0.75, "test/easy": 1.0, "test/hard": 0.0, "again": 1.0,
    }  # fmt: skip
    tasks = {name: report["benchmarks"][name]["num_tasks"] for name in success}
    assert (tasks["validation"], tasks["validation/easy"], tasks["validation/hard"]) == (10, 6, 4)
    assert (report["env"], report["strata"]) == ("easy + hard", ["easy", "hard"])
    gains = {name: found["estimate"] for name, found in report["differences"].items()}
    assert (gains["reference"], gains["reference/easy"], gains["reference/hard"]) == (0.75, 1, 0)
    assert metrics["evaluation/validation/gain"] == 0.75
    assert metrics["evaluation/validation/easy/gain"] == 1.0
    assert metrics["evaluation/test/hard/success"] == 0.0


def test_the_means_interval_joins_the_environments(tmp_path: Path, stand: Stand) -> None:
    report, _ = run(mixed(tmp_path), tmp_path)
    easy, hard = wilson(6, 6), wilson(0, 4)
    found = report["benchmarks"]["validation"]
    assert found["low"] == pytest.approx(0.75 - 0.75 * (1 - easy.low))
    assert found["high"] == pytest.approx(0.75 + 0.25 * hard.high)


def evidence(easy: Sequence[Sequence[bool]], hard: Sequence[Sequence[bool]]) -> Evidence:
    """Outcomes of the team and the reference; policies are filled in by `judge`."""
    solved: list[dict[str, bool]] = [
        {f"{name}/{i}": bool(value) for name, of in (("easy", a), ("hard", b))
         for i, value in enumerate(of)}
        for a, b in zip(easy, hard, strict=True)
    ]  # fmt: skip
    strata = {
        name: {task for task in solved[0] if task.startswith(name)} for name in ("easy", "hard")
    }
    return Evidence({}, {}, "initial", solved[0], solved[1], strata)


def judge(config: ExperimentConfig, found: Evidence) -> Verdict:
    state: TrainingState = make_state(config, 3)
    ours = tags_of(state.team(config))
    theirs = tags_of(Team(state.initial, config.roles))
    return decide(config, replace(found, team=ours, reference=theirs), ours, theirs, "initial")


def test_the_gate_weighs_environments_and_not_tasks(tmp_path: Path) -> None:
    """Many tasks of one game must not outvote the other: 20 points up, 60 down, weights 3 to 1."""
    yes, no = True, False
    easy = ([yes] * 20, [yes] * 16 + [no] * 4)
    hard = ([yes] * 40 + [no] * 60, [yes] * 100)
    verdict = judge(mixed(tmp_path), evidence(easy, hard))
    assert verdict.gain == pytest.approx(0.75 * 0.2 - 0.25 * 0.6)
    assert not verdict.promoted
    assert (verdict.wins, verdict.losses, verdict.num_tasks) == (4, 60, 120)
    assert "easy +20.0, hard -60.0, weighted" in verdict.reasons[0]
    parts = [paired_difference(*easy), paired_difference(*hard)]
    below = sum((w * (p.estimate - p.low)) ** 2 for w, p in zip((0.75, 0.25), parts, strict=True))
    assert verdict.low == pytest.approx(verdict.gain - below**0.5)


def test_the_gate_reads_the_report(tmp_path: Path, stand: Stand) -> None:
    config = mixed(tmp_path)
    report, _ = run(config, tmp_path)
    found = read_evidence(report)
    assert {name: len(tasks) for name, tasks in found.strata.items()} == {"easy": 6, "hard": 4}
    assert judge(config, found).gain == 0.75


@pytest.mark.parametrize(
    "strata",
    [
        {},
        {"easy": {"easy/0", "hard/0"}},
        {"easy": {"easy/0"}, "hard": {"easy/0"}},
        {"easy": {"easy/0"}, "hard": set()},
        {"easy": {"easy/0"}, "maze": {"hard/0"}},
    ],
)
def test_a_report_of_other_environments_is_refused(strata: Any, tmp_path: Path) -> None:
    found = evidence(([True], [False]), ([True], [False]))
    assert judge(mixed(tmp_path), found).gain == 1.0
    with pytest.raises(RecordError, match=r"expected each once of \['easy', 'hard'\]"):
        judge(mixed(tmp_path), replace(found, strata=strata))
