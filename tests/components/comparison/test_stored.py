"""Outcomes from the store: which step's they are, and what `--evaluate` adds."""

from pathlib import Path
from typing import Any

import pytest

from components.comparison.compare import compare
from components.comparison.held_out import play_held_out
from components.comparison.stored import held_out_of, latest_played
from components.config import ExperimentConfig
from components.errors import ConfigError
from components.rollout.main import rollout
from components.state import save_state, write_state
from components.storage import open_store
from tests.doubles.engine import FakeEngine, seeded
from tests.doubles.teams import TRACER, make_config, make_state

ENDINGS = {f"A{digit}": "solved" for digit in "579"}


class Engines:
    """Answers depend on the policy's version, so every iteration's team plays otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[FakeEngine] = []
        monkeypatch.setattr("components.rollout.engines.open_engine", self.open)

    def open(self, settings: Any, team: Any, store: Any, cache: Path) -> FakeEngine:
        tags = {key: ref.tag for key, ref in team.policies.items()}
        version = next(iter(team.policies.values())).version
        words = "0123456789"[version:] + "0123456789"[:version]
        self.opened.append(FakeEngine(seeded(words), tags))
        return self.opened[-1]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    return Engines(monkeypatch)


def config_of(folder: Path, num_tasks: int = 12, **env: Any) -> ExperimentConfig:
    options = {"endings": ENDINGS} | env
    evaluation = {"num_tasks": num_tasks}
    return make_config(str(folder), env={"name": TRACER, "options": options}, evaluation=evaluation)


def trained(config: ExperimentConfig, folder: Path, iterations: int = 2) -> Any:
    """States and rollouts, as a run of so many iterations leaves them."""
    store = open_store(config.storage)
    for iteration in range(iterations + 1):
        write_state(store, make_state(config, iteration, 2 * iteration))
    for iteration in range(1, iterations + 1):
        state = str(folder / "state.json")
        save_state(state, make_state(config, iteration - 1, 2 * iteration - 2))
        outputs = {name: str(folder / name) for name in ("scored", "episodes", "evaluation")}
        rollout(config.to_json(), "r", iteration, {"state": state}, outputs)
    return store


def test_the_rollout_after_has_played_the_team(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    store = trained(config, tmp_path)
    (first,) = held_out_of(store, config, "r", 0, "validation")
    assert (first.source, first.iteration, len(first.outcomes)) == ("rollout", 0, 12)
    assert held_out_of(store, config, "r", 2, "validation") == []
    assert latest_played(store, config, "r", "validation") == 1
    assert latest_played(store, config, "r", "test") == 2  # none is; the latest is offered


def test_evaluate_plays_once_and_adds_rewards(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    store = trained(config, tmp_path)
    played = play_held_out(config, config.storage, config.roles, "r", 1, "validation")
    opened = len(engines.opened)
    assert play_held_out(config, config.storage, config.roles, "r", 1, "validation") == played
    assert len(engines.opened) == opened
    stored = held_out_of(store, config, "r", 1, "validation")
    assert [item.source for item in stored] == ["held_out", "rollout"] and stored[0] == played
    ours = {task: (o.solved, o.num_turns) for task, o in played.outcomes.items()}
    assert ours == {task: (o.solved, o.num_turns) for task, o in stored[1].outcomes.items()}
    assert all("A" in outcome.rewards for outcome in played.outcomes.values())


def test_other_options_are_other_tasks_until_both_are_played(
    tmp_path: Path, engines: Engines
) -> None:
    """The task ids are equal, the environments are not."""
    (tmp_path / "b").mkdir()
    first, other = config_of(tmp_path), config_of(tmp_path / "b", team={"A1": 1.0})
    ours = held_out_of(trained(first, tmp_path), first, "r", 1, "validation")[0]
    theirs = held_out_of(trained(other, tmp_path / "b"), other, "r", 1, "validation")[0]
    assert set(ours.outcomes) == set(theirs.outcomes)
    with pytest.raises(ConfigError, match="other tasks, although their ids may be equal"):
        compare(ours, theirs, ("a", "b"))
    again = play_held_out(first, other.storage, other.roles, "r", 1, "validation")
    result = compare(ours, again, ("a", "b"))
    assert result["environments"]["all"]["success"]["difference"] == 0.0  # the same policies


def test_unknown_benchmarks_are_named(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    trained(config, tmp_path, iterations=0)
    with pytest.raises(
        ConfigError, match="benchmark 'few' is unknown to .*; known: validation, test"
    ):
        play_held_out(config, config.storage, config.roles, "r", 0, "few")
