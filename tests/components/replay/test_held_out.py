"""Replays of held-out play: of the rollout's team and of every team of a closing evaluation."""

from pathlib import Path

import pytest

from components.answers import kept_answers
from components.config import ExperimentConfig
from components.errors import ConfigError
from components.evaluation.main import evaluate
from components.policies import Team
from components.replay.finding import find_iteration
from components.replay.main import Replay, replay
from components.rollout.main import evaluate_team, rollout
from components.state import save_state, write_state
from components.storage import open_store
from tests.components.replay.test_replay import Engines
from tests.doubles.teams import TRACER, make_config, make_ref, make_state

EVALUATION = {
    "num_tasks": 3, "swapped": True,
    "benchmarks": {"again": {"split": "validation", "num_tasks": 2}},
}  # fmt: skip
CHAMPION = Team({"x": make_ref("x", 7), "y": make_ref("y", 9)}, {"A": "x", "B": "y"})


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    monkeypatch.setattr("components.evaluation.main._champion", lambda config: CHAMPION)
    return Engines(monkeypatch)


@pytest.fixture
def config(tmp_path: Path, engines: Engines) -> ExperimentConfig:
    """Of a run `r` that is done: one iteration, evaluated before and after."""
    rollout_settings = {"num_tasks": 2, "num_candidates": 3, "num_turns": 2}
    config = make_config(
        str(tmp_path), env={"name": TRACER}, rollout=rollout_settings, evaluation=EVALUATION
    )
    states = [str(tmp_path / f"{iteration}.json") for iteration in (0, 1)]
    for iteration, path in enumerate(states):
        write_state(open_store(config.storage), make_state(config, iteration))
        save_state(path, make_state(config, iteration))
    outputs = {name: str(tmp_path / name) for name in ("scored", "episodes", "evaluation")}
    rollout(config.to_json(), "r", 1, {"state": states[0]}, outputs)
    closing = {name: str(tmp_path / name) for name in ("evaluation", "report")}
    evaluate(config.to_json(), "r", 1, {"state": states[1]}, closing)
    return config


def again(
    config: ExperimentConfig, episode: str, play: str | None = None, batch: str = "auto"
) -> tuple[Replay, list[str]]:
    store, said = open_store(config.storage), list[str]()
    return replay(store, config, "r", 1, episode, None, said.append, batch, play), said


@pytest.mark.parametrize(
    "play",
    ["validation", "closing validation", "closing validation/reference",
     "closing validation/swapped", "closing test", "closing again"],
)  # fmt: skip
def test_held_out_play_is_the_same(play: str, config: ExperimentConfig, engines: Engines) -> None:
    episode = f"tracer/{'test' if 'test' in play else 'validation'}/0/1"
    result, _ = again(config, episode, play, "whole")
    assert result.same and result.play == play
    assert [item.candidate for item in result.answers] == [0] * len(result.answers) != []
    assert engines.opened[-1].samplings[0].temperature == 0.0


def test_another_greedy_answer_is_told(config: ExperimentConfig, engines: Engines) -> None:
    engines.answer = lambda request, at: "other"
    result, _ = again(config, "tracer/validation/0/1", "closing validation/reference")
    assert not any(item.same for item in result.answers) and result.answers


def test_the_play_is_said_where_several_have_the_episode(config: ExperimentConfig) -> None:
    result, said = again(config, "tracer/validation/0/1")
    assert result.play == "validation"
    assert said[0].startswith("as played in 'validation'; --play chooses another: 'closing again'")
    store = open_store(config.storage)
    assert find_iteration(store, "r", "tracer/test/0/0") == 1
    with pytest.raises(
        ConfigError, match=r"in 'training'; it was played in 'validation', 'closing"
    ):
        again(config, "tracer/validation/0/1", "training")
    with pytest.raises(ConfigError, match="in 'training'; it was played in 'validation', 'closing"):
        find_iteration(store, "r", "tracer/validation/0/1", "training")


def test_an_unknown_play_is_named_with_those_that_there_are(config: ExperimentConfig) -> None:
    known = "has 'training', 'validation', 'closing again', 'closing test', 'closing validation'"
    message = f"--play 'nosuch': run 'r'.* has no such play; it {known}"
    for episode in ("tracer/validation/0/1", "tracer/train/0/0", "chess/1"):
        with pytest.raises(ConfigError, match=message):
            again(config, episode, "nosuch")
        with pytest.raises(ConfigError, match=message):
            find_iteration(open_store(config.storage), "r", episode, "nosuch")


def test_unknown_held_out_ids_are_answered_with_those_of_the_same_split(
    config: ExperimentConfig,
) -> None:
    with pytest.raises(
        ConfigError,
        match=r"closing test of iteration 1 has tracer/test/0/0, tracer/test/0/1, tracer/test/0/2: "
        r"`python -m pipelines episodes r --iteration 1 --store file:.*` shows all. Held-out",
    ):
        find_iteration(open_store(config.storage), "r", "tracer/test/0/99")


def test_what_cannot_be_replayed_is_a_sentence(config: ExperimentConfig) -> None:
    store = open_store(config.storage)
    for step, benchmark in kept_answers(store, "r", 1):
        store.delete(f"runs/r/answers/000001/{step}/{benchmark}.parquet")
    with pytest.raises(
        ConfigError, match=r"of iteration 1 only 'training' is kept. Held-out answers are kept of"
    ):
        again(config, "tracer/validation/0/1")
    with pytest.raises(ConfigError, match=r"'r': no stored answers of episode 'tracer/validation"):
        find_iteration(store, "r", "tracer/validation/0/1")


def test_a_team_that_nothing_describes_is_named(
    config: ExperimentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("components.replay.plays.reported_policies", lambda *_: [])
    with pytest.raises(ConfigError, match=r"role 'A' was played by x@7-\w+, of which neither"):
        again(config, "tracer/validation/0/1", "closing validation/reference")


def test_staged_evaluations_are_replayed_too(config: ExperimentConfig, tmp_path: Path) -> None:
    state, rows = str(tmp_path / "1.json"), str(tmp_path / "rows")
    evaluate_team(config.to_json(), "r", 2, {"state": state}, {"evaluation": rows})
    store = open_store(config.storage)
    assert find_iteration(store, "r", "tracer/validation/0/2") == 2
    result = replay(store, config, "r", 2, "tracer/validation/0/2", None, lambda line: None)
    assert result.same and len(result.answers) > 0
