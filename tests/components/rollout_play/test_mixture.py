"""Several environments in one batch: other roles, other orders, other numbers of turns."""

from pathlib import Path
from typing import Any

import pytest

from components import records
from components.config import ExperimentConfig, parse_config
from components.env_execution.boards import (
    advance_boards,
    board_prompts,
    deal,
    decode_boards,
    encode_boards,
)
from components.env_execution.environments import open_environments, training_tasks
from components.env_execution.rules import training_rules
from components.errors import RecordError, RolewiseError
from components.records import Candidate, Episode, Scored
from components.rollout.main import rollout
from components.state import save_state
from pipelines.iteration import num_rollouts, num_tasks
from tests.components.rollout_play.test_main import Engines, fused, staged
from tests.doubles.engine import FakeEngine
from tests.doubles.rows import make_candidate
from tests.doubles.teams import TRACER, make_config, make_state

SHARED = {"name": TRACER, "options": {"endings": {"B9": "solved"}}, "weight": 0.7}
APART = {
    "name": TRACER, "weight": 0.3, "num_turns": 3, "num_evaluation_tasks": 5,
    "options": {"roles": ["A", "C"], "order": "parallel", "endings": {"A1": "failed"}},
    "roles": {"A": "B"},
}  # fmt: skip
"""The team's B plays its A; C is a role of this environment alone."""
TEAM = {"A": "a", "B": "b", "C": "a"}


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    return Engines(monkeypatch)


def mixed(folder: Path, envs: Any = None, **sections: Any) -> ExperimentConfig:
    """Ten tasks an iteration; sections replace or add."""
    rollout = {"num_tasks": 10, "num_candidates": 3, "num_turns": 2}
    single = make_config(str(folder), roles=TEAM).model_dump(mode="json", exclude={"env"})
    envs = envs or {"shared": SHARED, "apart": APART}
    return parse_config(single | {"rollout": rollout, "envs": envs} | sections)


def turns_of(path: Any) -> list[Any]:
    return [row.candidate.turn for row in records.read_rows(path, Scored)]


@pytest.mark.parametrize("sampling", ["tree", "parallel"])
def test_fused_and_staged_write_the_same_rows(
    sampling: str, tmp_path: Path, engines: Engines
) -> None:
    rollout = {"num_tasks": 10, "num_candidates": 3, "num_turns": 2, "sampling": sampling}
    config = mixed(tmp_path, rollout=rollout)
    outputs, metrics = fused(config, tmp_path)
    scored, episodes, last = staged(config, tmp_path, phases=2)
    assert records.read_rows(scored, Scored) == records.read_rows(outputs["scored"], Scored)
    assert records.read_rows(episodes, Episode) == records.read_rows(outputs["episodes"], Episode)
    shared = {name for name in last if name.startswith("rollout/") and not name.endswith("_s")}
    assert {"rollout/train/shared/success", "rollout/train/apart/reward/B"} <= shared
    assert {name: last[name] for name in shared} == {name: metrics[name] for name in shared}


def test_one_batch_holds_all_and_each_keeps_its_own_rules(tmp_path: Path, engines: Engines) -> None:
    config = mixed(tmp_path, evaluation={"num_tasks": 3, "every": 9})
    outputs, _ = fused(config, tmp_path, iteration=2)
    batches = engines.opened[0].batches
    assert len(batches) == num_rollouts(config) == 4
    assert len(batches[0]) == 7 * 1 + 3 * 2
    turns = turns_of(outputs["scored"])
    played = {(turn.env, turn.role, turn.policy) for turn in turns}
    assert played == {
        ("shared", "A", "a"), ("shared", "B", "b"), ("apart", "B", "b"), ("apart", "C", "a"),
    }  # fmt: skip
    longest = {env: max(turn.turn for turn in turns if turn.env == env) for env, *_ in played}
    assert longest == {"shared": 1, "apart": 2}
    assert {turn.task_id.split("/")[0] for turn in turns} == {"shared", "apart"}


def test_fault_11_each_stream_goes_on_where_it_stopped(tmp_path: Path, engines: Engines) -> None:
    numbers: dict[str, list[int]] = {"shared": [], "apart": []}
    for iteration in (1, 2, 3):
        config = mixed(tmp_path)
        outputs, _ = fused(config, tmp_path, iteration, next_task=10 * (iteration - 1))
        for episode in records.read_rows(outputs["episodes"], Episode):
            numbers[episode.env].append(int(episode.task_id.rpartition("/")[2]))
    assert {env: sorted(found) for env, found in numbers.items()} == {
        "shared": list(range(21)), "apart": list(range(9)),
    }  # fmt: skip


def test_a_mixture_of_one_plays_as_the_plain_form(tmp_path: Path, engines: Engines) -> None:
    plain, alone = tmp_path / "plain", tmp_path / "alone"
    plain.mkdir(), alone.mkdir()
    one, _ = fused(make_config(str(plain)), plain)
    config = make_config(str(alone)).model_dump(mode="json", exclude={"env"})
    two, metrics = fused(parse_config(config | {"envs": {"tracer": {"name": TRACER}}}), alone)
    for name in ("scored", "episodes", "evaluation"):
        assert one[name].read_bytes() == two[name].read_bytes()
    assert not any("/tracer/" in name for name in metrics)


def test_success_is_weighted_as_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy play solves every task of one and none of the other."""
    engine = FakeEngine(lambda request, _: "9", {"a": "a@0", "b": "b@0"})
    monkeypatch.setattr("components.rollout.engines.open_engine", lambda *_: engine)
    envs = {"shared": SHARED | {"evaluation_weight": 1}, "apart": APART | {"evaluation_weight": 3}}
    config = mixed(tmp_path, envs)
    outputs, metrics = fused(config, tmp_path)
    name = "evaluation/validation"
    assert metrics[f"{name}/success"] == 0.25
    assert metrics[f"{name}/success_low"] < 0.25 < metrics[f"{name}/success_high"]
    assert (metrics[f"{name}/shared/success"], metrics[f"{name}/apart/success"]) == (1.0, 0.0)
    assert metrics[f"{name}/turns/mean"] == 0.25 * 1 + 0.75 * 3
    assert (metrics[f"{name}/num_tasks"], metrics[f"{name}/apart/num_tasks"]) == (8, 5)
    assert metrics[f"{name}/shared/reward/A"] == 9.0
    assert {row.benchmark for row in records.read_rows(outputs["evaluation"], Episode)} == {
        "validation"
    }


def test_an_environment_may_have_no_task_in_an_iteration(tmp_path: Path, engines: Engines) -> None:
    rollout = {"num_tasks": 1, "num_candidates": 2, "num_turns": 2}
    outputs, metrics = fused(mixed(tmp_path, rollout=rollout), tmp_path)
    assert {turn.env for turn in turns_of(outputs["scored"])} == {"shared"}
    assert "rollout/train/apart/success" not in metrics


def test_judging_in_processes_changes_nothing(tmp_path: Path, engines: Engines) -> None:
    made = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        rollout = {"num_tasks": 4, "num_candidates": 2, "num_turns": 2, "env_workers": workers}
        made.append(fused(mixed(folder, rollout=rollout), folder)[0]["scored"].read_bytes())
    assert made[0] == made[1]


def test_tasks_of_a_staged_pipeline_follow_the_longest_episode(tmp_path: Path) -> None:
    config = mixed(tmp_path, {"shared": SHARED, "apart": APART | {"num_turns": 5}})
    staged_config = config.model_copy(
        update={"rollout": config.rollout.model_copy(update={"placement": "staged"})}
    )
    assert num_rollouts(config) == 5
    assert num_tasks(staged_config) == num_tasks(config) + 1 + 2 * 5


def test_frontiers_of_other_environments_are_refused(tmp_path: Path) -> None:
    config = mixed(tmp_path)
    members = open_environments(config)
    rules = training_rules(config, 1)
    boards = deal(members, training_tasks(members, config, 0), rules)
    text = encode_boards(boards)
    assert decode_boards(members, text, rules) == boards
    with pytest.raises(RecordError, match=r"2 frontiers, expected one for each of \['apart'\]"):
        decode_boards(members[:1], text, rules)
    with pytest.raises(RecordError, match="frontier of environment and version"):
        decode_boards(members[::-1], text, rules)


def test_a_candidate_of_no_environment_is_named(tmp_path: Path) -> None:
    config = mixed(tmp_path)
    members = open_environments(config)
    tasks, rules = training_tasks(members, config, 0), training_rules(config, 1)
    foreign = deal(members[1:], tasks, rules)
    stray: list[Candidate] = [make_candidate(board_prompts(foreign)[0], 0, "1")]
    with pytest.raises(RolewiseError, match="no environment 'shared' is played here"):
        advance_boards(deal(members[:1], tasks, rules), stray)


def test_the_step_names_a_stream_that_has_ended(
    tmp_path: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = mixed(tmp_path)
    monkeypatch.setattr("tests.doubles.environments.Tracer.tasks", lambda *_: [], raising=True)
    save_state(tmp_path / "s", make_state(config, 0))
    with pytest.raises(RolewiseError, match="environment 'apart': split train .* has no tasks"):
        rollout(config.to_json(), "r", 1, {"state": str(tmp_path / "s")}, {"scored": "x"})
