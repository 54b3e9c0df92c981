"""The steps as they run in a pipeline: files in, files out; fused and staged placement agree."""

from pathlib import Path
from typing import Any

import pytest

from components import records
from components.config import ExperimentConfig
from components.env_execution.main import execute_turn, open_turns
from components.errors import ConfigError, RolewiseError
from components.policies import Team
from components.records import Candidate, Episode, Scored, Turn
from components.rollout.main import evaluate_team, rollout, sample_turn
from components.state import save_state
from envs.base import Order, Status
from tests.doubles.engine import FakeEngine, seeded
from tests.doubles.teams import TRACER, make_config, make_state

DIGITS = "0123456789"


class Engines:
    """Stands where engines are opened; remembers them and their teams."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[FakeEngine] = []
        self.teams: list[Team] = []
        monkeypatch.setattr("components.rollout.engines.open_engine", self.open)

    def open(self, settings: Any, team: Team, store: Any, cache: Path) -> FakeEngine:
        versions = {key: ref.tag for key, ref in team.policies.items()}
        self.teams.append(team)
        self.opened.append(FakeEngine(seeded(DIGITS), versions))
        return self.opened[-1]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    return Engines(monkeypatch)


def tracer_config(folder: Path, **options: Any) -> ExperimentConfig:
    return make_config(str(folder), env={"name": TRACER, "options": options})


def fused(
    config: ExperimentConfig, folder: Path, iteration: int = 1, next_task: int = 0
) -> tuple[dict[str, Path], dict[str, float]]:
    state = folder / "state.json"
    save_state(state, make_state(config, iteration - 1, next_task))
    names = ("scored", "episodes", "evaluation")
    outputs = {name: folder / f"fused_{name}" for name in names}
    texts = {name: str(path) for name, path in outputs.items()}
    metrics = rollout(config.to_json(), "r", iteration, {"state": str(state)}, texts)
    return outputs, metrics


def staged(
    config: ExperimentConfig, folder: Path, phases: int
) -> tuple[str, str, dict[str, float]]:
    """The pipeline's unrolled loop; returns the last scored and episodes, and its metrics."""
    content, state = config.to_json(), str(folder / "state.json")
    save_state(state, make_state(config))
    at = {name: str(folder / f"0_{name}") for name in ("turns", "frontier", "scored")}
    open_turns(content, "r", 1, {"state": state}, at)
    metrics: dict[str, float] = {}
    for phase in range(config.rollout.num_turns * phases):
        candidates = str(folder / f"{phase}_candidates")
        inputs = {"state": state, "turns": at["turns"]}
        sample_turn(content, "r", 1, inputs, {"candidates": candidates})
        inputs = {"frontier": at["frontier"], "scored": at["scored"], "candidates": candidates}
        names = ("turns", "frontier", "scored", "episodes")
        at = {name: str(folder / f"{phase + 1}_{name}") for name in names}
        metrics = execute_turn(content, "r", 1, inputs, at)
    return at["scored"], at["episodes"], metrics


@pytest.mark.parametrize(("order", "phases"), [("serial", 2), ("parallel", 1)])
@pytest.mark.parametrize("sampling", ["tree", "parallel"])
def test_fused_and_staged_write_the_same_rows(
    order: str, phases: int, sampling: str, tmp_path: Path, engines: Engines
) -> None:
    env = {"name": TRACER, "options": {"order": order, "endings": {"A9": "solved", "B0": "failed"}}}
    settings = {"num_tasks": 3, "num_candidates": 3, "num_turns": 3, "sampling": sampling}
    config = make_config(str(tmp_path), env=env, rollout=settings)
    outputs, metrics = fused(config, tmp_path)
    scored, episodes, last = staged(config, tmp_path, phases)
    assert records.read_rows(scored, Scored) == records.read_rows(outputs["scored"], Scored)
    assert records.read_rows(episodes, Episode) == records.read_rows(outputs["episodes"], Episode)
    shared = {name for name in last if name.startswith("rollout/") and not name.endswith("_s")}
    assert "rollout/A/reward/mean" in shared
    assert {name: last[name] for name in shared} == {name: metrics[name] for name in shared}


def test_staged_play_that_is_over_starts_no_engine(tmp_path: Path, engines: Engines) -> None:
    config = tracer_config(tmp_path, endings={f"A{digit}": "solved" for digit in DIGITS})
    _, episodes, metrics = staged(config, tmp_path, phases=2)
    assert len(engines.opened) == 1
    statuses = [episode.status for episode in records.read_rows(episodes, Episode)]
    assert statuses == [Status.SOLVED, Status.SOLVED]
    assert metrics["rollout/train/success"] == 1.0
    assert records.read_rows(tmp_path / "2_candidates", Candidate) == []


def test_a_committed_step_is_not_played_again(tmp_path: Path, engines: Engines) -> None:
    config = tracer_config(tmp_path)
    _, first = fused(config, tmp_path)
    _, second = fused(config, tmp_path)
    assert len(engines.opened) == 1
    assert second == first


def test_fault_11_rollout_continues_the_training_stream_and_pins_versions(
    tmp_path: Path, engines: Engines
) -> None:
    config = tracer_config(tmp_path)
    outputs, _ = fused(config, tmp_path, iteration=4, next_task=6)
    rows = records.read_rows(outputs["scored"], Scored)
    assert {row.candidate.turn.task_id for row in rows} == {"tracer/train/0/6", "tracer/train/0/7"}
    tags = {ref.tag for ref in make_state(config, 3).policies.values()}
    assert {row.candidate.policy_version for row in rows} == tags
    assert all(engine.closed for engine in engines.opened)


@pytest.mark.parametrize(("iteration", "due"), [(1, True), (2, False), (3, False), (4, True)])
def test_evaluation_is_played_every_nth_iteration(
    iteration: int, due: bool, tmp_path: Path, engines: Engines
) -> None:
    config = make_config(str(tmp_path), evaluation={"num_tasks": 3, "every": 3})
    outputs, metrics = fused(config, tmp_path, iteration)
    episodes = records.read_rows(outputs["evaluation"], Episode)
    assert len(episodes) == (3 if due else 0)
    assert ("evaluation/validation/success" in metrics) == due
    alone = str(tmp_path / "alone")
    inputs = {"state": str(tmp_path / "state.json")}
    evaluate_team(config.to_json(), "r", iteration, inputs, {"evaluation": alone})
    assert records.read_rows(alone, Episode) == episodes
    assert len(engines.opened) == (2 if due else 1)


def test_evaluation_is_greedy_on_the_same_tasks_for_every_seed(
    tmp_path: Path, engines: Engines
) -> None:
    played = []
    for seed in (0, 5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outputs, _ = fused(make_config(str(folder), seed=seed), folder, iteration=1 + seed)
        played.append(records.read_rows(outputs["evaluation"], Episode))
        samplings = engines.opened[-1].samplings
        assert [sampling.temperature for sampling in samplings] == [0.0] * 4 + [1.0] * 4
    tasks = [[episode.task_id for episode in episodes] for episodes in played]
    assert tasks[0] == tasks[1] == [f"tracer/validation/0/{number}" for number in range(3)]


def test_rollout_metrics_have_their_names(tmp_path: Path, engines: Engines) -> None:
    _, metrics = fused(tracer_config(tmp_path), tmp_path)
    for role in "AB":
        for name in ("reward/mean", "reward/std", "completions/mean_length", "errors"):
            assert f"rollout/{role}/{name}" in metrics
    assert metrics["rollout/num_tokens"] == 2 * 2 * 2 * 4
    assert [metrics[f"rollout/{role}/num_candidates"] for role in "AB"] == [2 * 2 * 4] * 2
    assert sum(metrics[f"rollout/{role}/num_tokens"] for role in "AB") == 2 * 2 * 2 * 4
    assert metrics["rollout/load_s"] == 0.25
    assert metrics["rollout/train/turns/mean"] == 2.0
    for name in ("success", "success_low", "success_high", "turns/mean", "num_tasks"):
        assert f"evaluation/validation/{name}" in metrics
    for name in ("num_tokens", "tokens_per_s", "generate_s", "environment_s"):
        assert metrics[f"evaluation/validation/{name}"] > 0
    assert metrics["system/rollout/load_s"] > 0


def test_training_is_compared_with_greedy_play_where_both_are_played(
    tmp_path: Path, engines: Engines
) -> None:
    config = make_config(str(tmp_path), evaluation={"num_tasks": 3, "every": 2})
    _, due = fused(config, tmp_path, iteration=1)
    assert due["rollout/train/visits_distance"] == 0.0, "both play two roles in two turns"
    _, not_due = fused(config, tmp_path, iteration=2)
    assert not [name for name in not_due if "visits" in name]


def test_roles_that_the_environment_lacks_are_named(
    tmp_path: Path, engines: Engines, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config(str(tmp_path), roles={"A": "a", "Z": "b"})
    with pytest.raises(ConfigError, match=r"unknown \['Z'\], missing \['B'\]"):
        fused(config, tmp_path)
    assert capsys.readouterr().err.startswith("error: rollout (run r, iteration 1): roles:")
    assert engines.opened == []


def test_an_unknown_environment_is_a_configuration_error(tmp_path: Path, engines: Engines) -> None:
    config = make_config(str(tmp_path), env={"name": "chess"})
    with pytest.raises(ConfigError, match="env: env.name is 'chess'"):
        fused(config, tmp_path)


def test_the_engine_is_closed_after_an_error(tmp_path: Path, engines: Engines) -> None:
    config = tracer_config(tmp_path, endings={f"A{digit}": "out_of_turns" for digit in DIGITS})
    with pytest.raises(RolewiseError, match="only the turn loop sets"):
        fused(config, tmp_path)
    assert [engine.closed for engine in engines.opened] == [True]


def test_open_turns_writes_the_first_prompts(tmp_path: Path) -> None:
    config = tracer_config(tmp_path, order=Order.PARALLEL.value)
    save_state(tmp_path / "state.json", make_state(config, next_task=4))
    outputs = {name: str(tmp_path / name) for name in ("turns", "frontier", "scored")}
    open_turns(config.to_json(), "r", 1, {"state": str(tmp_path / "state.json")}, outputs)
    turns = records.read_rows(outputs["turns"], Turn)
    assert [(turn.task_id[-1], turn.role) for turn in turns] == [
        ("4", "A"), ("4", "B"), ("5", "A"), ("5", "B"),
    ]  # fmt: skip
    assert records.read_rows(outputs["scored"], Scored) == []
