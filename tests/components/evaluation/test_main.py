"""The evaluation step: benchmarks, pairing, the report that the gate reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from components import records
from components.config import ExperimentConfig
from components.errors import RolewiseError
from components.evaluation.main import evaluate
from components.evaluation.report import difference
from components.policies import Team
from components.records import Episode
from components.state import save_state
from envs.base import Status
from tests.doubles.engine import FakeEngine
from tests.doubles.teams import TRACER, make_config, make_ref, make_state

ENV = {"name": TRACER, "options": {"endings": {"B9": "solved"}}}


class Stand:
    """Opens fake engines: a policy of version 3 or later writes 9, others 1; no champion."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.teams: list[Team] = []
        self.engines: list[FakeEngine] = []
        self.champion: Team | None = None
        monkeypatch.setattr("components.rollout.engines.open_engine", self.open)
        monkeypatch.setattr("components.evaluation.main._champion", lambda config: self.champion)

    def open(self, settings: Any, team: Team, store: Any, cache: Path) -> FakeEngine:
        self.teams.append(team)
        skilled = {
            key for key, ref in team.policies.items() if ref.version >= 3 and ref.name == "b"
        }
        engine = FakeEngine(lambda request, _: "9" if request.policy in skilled else "1")
        self.engines.append(engine)
        return engine


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    return Stand(monkeypatch)


def run(config: ExperimentConfig, folder: Path, iteration: int = 3) -> tuple[Any, dict[str, float]]:
    state = str(folder / "state.json")
    save_state(state, make_state(config, iteration))
    outputs = {name: str(folder / name) for name in ("evaluation", "report")}
    metrics = evaluate(config.to_json(), "r", iteration, {"state": state}, outputs)
    return json.loads(Path(outputs["report"]).read_text()), metrics


def tracer_config(folder: Path, **evaluation: Any) -> ExperimentConfig:
    return make_config(str(folder), env=ENV, evaluation={"num_tasks": 5} | evaluation)


def test_report_pairs_the_candidate_with_the_start(tmp_path: Path, stand: Stand) -> None:
    report, metrics = run(tracer_config(tmp_path, swapped=True), tmp_path)
    success = {name: values["success"] for name, values in report["benchmarks"].items()}
    assert success == {
        "validation": 1.0, "validation/reference": 0.0, "validation/swapped": 0.0, "test": 1.0,
    }  # fmt: skip
    assert report["reference"] == "initial"
    assert report["differences"]["reference"]["estimate"] == 1.0
    assert report["differences"]["reference"]["low"] > 0.0
    assert report["benchmarks"]["validation"]["turns_mean"] == 1.0
    assert report["benchmarks"]["validation"]["reward"] == {"A": 1.0, "B": 9.0}
    assert metrics["evaluation/validation/success"] == 1.0
    assert metrics["evaluation/validation/reference/turns/mean"] == 2.0
    assert metrics["evaluation/validation/gain"] == 1.0


def test_all_teams_share_one_engine_and_their_tasks(tmp_path: Path, stand: Stand) -> None:
    report, _ = run(tracer_config(tmp_path, swapped=True), tmp_path)
    assert len(stand.teams) == 1
    assert len(stand.teams[0].policies) == 4
    assert stand.engines[0].closed
    outcomes = [
        set(values["outcomes"]) for name, values in report["benchmarks"].items() if name != "test"
    ]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert set(report["benchmarks"]["test"]["outcomes"]).isdisjoint(outcomes[0])


def test_evaluation_record_holds_every_benchmark(tmp_path: Path, stand: Stand) -> None:
    run(tracer_config(tmp_path, test=False), tmp_path)
    episodes = records.read_rows(tmp_path / "evaluation", Episode)
    assert [episode.benchmark for episode in episodes] == ["validation"] * 5 + [
        "validation/reference"
    ] * 5
    assert {e.status for e in episodes if e.benchmark == "validation"} == {Status.SOLVED}


def test_test_split_is_left_out_on_request(tmp_path: Path, stand: Stand) -> None:
    report, _ = run(tracer_config(tmp_path, test=False), tmp_path)
    assert set(report["benchmarks"]) == {"validation", "validation/reference"}


def test_a_new_champion_is_a_new_evaluation(tmp_path: Path, stand: Stand) -> None:
    config = tracer_config(tmp_path)
    run(config, tmp_path)
    run(config, tmp_path)
    assert len(stand.engines) == 1
    stand.champion = Team({"a": make_ref("a", 3), "b": make_ref("b", 4)}, config.roles)
    report, _ = run(config, tmp_path)
    assert len(stand.engines) == 2
    assert report["reference"] == "champion"
    assert report["differences"]["reference"]["estimate"] == 0.0
    assert report["differences"]["reference"]["low"] < 0.0


def test_report_names_the_versions_that_played(tmp_path: Path, stand: Stand) -> None:
    report, _ = run(tracer_config(tmp_path), tmp_path)
    assert report["teams"]["candidate"]["A"]["tag"] == make_ref("a", 3).tag
    assert report["teams"]["reference"]["A"]["tag"] == make_ref("a").tag
    assert (report["env"], report["env_version"], report["iteration"]) == ("tracer", "1", 3)


def test_fewer_tasks_than_asked_are_all_played(tmp_path: Path, stand: Stand) -> None:
    env = {"name": TRACER, "options": {"num_tasks": 2}}
    report, _ = run(make_config(str(tmp_path), env=env), tmp_path)
    assert report["benchmarks"]["validation"]["num_tasks"] == 2


def test_difference_needs_the_same_tasks() -> None:
    with pytest.raises(RolewiseError, match="task 'y' was played by one team only"):
        difference({"outcomes": {"x": True}}, {"outcomes": {"x": True, "y": True}}, 0.95)
