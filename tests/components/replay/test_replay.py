"""Replays of fused and staged iterations with an engine of known answers; nothing is loaded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig
from components.env_execution.main import execute_turn, open_turns
from components.errors import ConfigError
from components.replay import plays as playing
from components.replay.branch import Branch, parse_branch
from components.replay.finding import find_iteration
from components.replay.main import Replay, replay
from components.replay.stored import stored_rows
from components.rollout.main import rollout, sample_turn
from components.state import save_state, write_state
from components.storage import open_store
from tests.doubles.engine import Answer, FakeEngine, seeded
from tests.doubles.teams import TRACER, make_config, make_state

DIGITS = "0123456789"


class Engines:
    """What is opened from now on answers so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answer: Answer = seeded(DIGITS)
        self.opened: list[FakeEngine] = []
        monkeypatch.setattr("components.rollout.engines.open_engine", self.open)

    def open(self, settings: Any, team: Any, store: Any, cache: Path) -> FakeEngine:
        tags = {key: ref.tag for key, ref in team.policies.items()}
        self.opened.append(FakeEngine(lambda *a: self.answer(*a), tags))
        return self.opened[-1]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    return Engines(monkeypatch)


def config_of(folder: Path, **rollout_settings: Any) -> ExperimentConfig:
    settings = {"num_tasks": 3, "num_candidates": 3, "num_turns": 2} | rollout_settings
    return make_config(str(folder), env={"name": TRACER}, rollout=settings)


def played(config: ExperimentConfig, folder: Path, iteration: int = 1, next_task: int = 0) -> None:
    """One iteration as its step leaves it in the store."""
    state = make_state(config, iteration - 1, next_task)
    write_state(open_store(config.storage), state)
    save_state(folder / "state.json", state)
    outputs = {name: str(folder / name) for name in ("scored", "episodes", "evaluation")}
    inputs = {"state": str(folder / "state.json")}
    rollout(config.to_json(), "r", iteration, inputs, outputs)


def again(
    config: ExperimentConfig, episode: str, branch: str | None = None, **options: Any
) -> Replay:
    chosen = parse_branch(branch) if branch else None
    store = open_store(config.storage)
    return replay(store, config, "r", 1, episode, chosen, lambda line: None, **options)


@pytest.mark.parametrize(
    "settings", [{}, {"beam": 2}, {"sampling": "parallel"}, {"pick": "sample"}]
)
def test_an_episode_is_the_same(settings: dict[str, Any], tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path, **settings)
    played(config, tmp_path)
    episode = "tracer/train/0/1" + ("#2" if "sampling" in settings else "")
    rows = stored_rows(open_store(config.storage), "r", 1) or []
    own = [row for row in rows if row.candidate.turn.episode_id == episode]
    result = again(config, episode)
    assert result.same and not result.whole_batch
    assert len(result.answers) == len(own) > 0
    assert sum(item.num_tokens for item in result.answers) == len(own)


def test_only_the_episode_is_asked_for_and_the_engine_is_closed(
    tmp_path: Path, engines: Engines
) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    again(config, "tracer/train/0/1")
    engine = engines.opened[-1]
    assert all("task 1 " in prompt for prompt in engine.prompts) and engine.closed


def test_a_branch_costs_one_generation(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    result = again(config, "tracer/train/0/2", "1/B/2")
    (answer,) = result.answers
    assert result.same and (answer.turn, answer.role, answer.candidate) == (1, "B", 2)
    assert len(engines.opened[-1].batches) == 1


def test_in_the_whole_batch_the_phase_is_generated_as_it_was(
    tmp_path: Path, engines: Engines
) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    then = engines.opened[0].batches
    result = again(config, "tracer/train/0/2", batch="whole")
    assert result.same and result.whole_batch
    assert engines.opened[-1].batches == then[-len(engines.opened[-1].batches) :]


def test_staged_iterations_are_replayed_like_fused_ones(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    content, state = config.to_json(), make_state(config)
    write_state(open_store(config.storage), state)
    save_state(tmp_path / "state.json", state)
    inputs = {"state": str(tmp_path / "state.json")}
    at = {name: str(tmp_path / f"0_{name}") for name in ("turns", "frontier", "scored")}
    open_turns(content, "r", 1, inputs, at)
    for phase in range(4):
        drawn = str(tmp_path / f"{phase}_candidates")
        sample_turn(content, "r", 1, inputs | {"turns": at["turns"]}, {"candidates": drawn})
        given = {"frontier": at["frontier"], "scored": at["scored"], "candidates": drawn}
        names = ("turns", "frontier", "scored", "episodes")
        at = {name: str(tmp_path / f"{phase + 1}_{name}") for name in names}
        execute_turn(content, "r", 1, given, at)
    result = again(config, "tracer/train/0/0")
    assert result.same and len(result.answers) == 2 * 2 * 3


def test_another_answer_is_named_and_its_batch_is_tried(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    first = seeded(DIGITS)
    engines.answer = lambda request, at: (
        "x" if "role B" in request.request_id and at == 1 else first(request, at)
    )
    result = again(config, "tracer/train/0/1")
    others = [item for item in result.answers if not item.same]
    assert not result.same and result.whole_batch
    assert {(item.role, item.candidate) for item in others} == {("B", 1)} and len(others) == 2
    assert all(item.first == 0 and item.gap == 0.0 for item in others)
    assert "token 0 was" in others[0].line and "within" not in others[0].line
    assert result.faults == []  # the stored answers were executed


def test_a_batch_that_decides_is_found_by_the_second_attempt(
    tmp_path: Path, engines: Engines
) -> None:
    """As rounding may: the answer depends on how many prompts are answered together."""
    config = config_of(tmp_path)
    first = seeded(DIGITS)

    def by_batch(request: Any, at: int) -> str | None:
        alone = len(engines.opened[-1].batches[-1]) == 1
        return "alone" if alone else first(request, at)

    engines.answer = by_batch
    played(config, tmp_path)
    result = again(config, "tracer/train/0/1")
    assert result.same and result.whole_batch
    assert not again(config, "tracer/train/0/1", batch="alone").same


def test_changed_rewards_and_prompts_are_told(
    tmp_path: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    rewarded = config.model_copy(
        update={"rollout": config.rollout.model_copy(update={"alpha": 0.5})}
    )
    assert again(rewarded, "tracer/train/0/1").same  # the team reward is 0 here
    env = config.env and config.env.model_copy(update={"options": {"rewards": {"A1": 9.0}}})
    changed = config.model_copy(update={"env": env})
    faults = [again(changed, f"tracer/train/0/{task}").faults for task in range(3)]
    assert any("reward was 1.0, is 9.0" in fault for item in faults for fault in item)
    monkeypatch.setattr(
        "tests.doubles.environments.Tracer.observe",
        lambda self, state, role: [{"role": "user", "content": "new words"}],
    )
    result = again(config, "tracer/train/0/1")
    assert not result.same and "another prompt than then" in result.faults[0]


def test_other_weights_than_the_state_says_are_refused(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    state = make_state(config)
    other = replace(state.policies["b"], version=7)
    content = replace(state, policies=state.policies | {"b": other})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playing, "read_state", lambda *_: content)
        with pytest.raises(
            ConfigError, match=r"policy 'b' are of b@0-\w+, the state before has b@7"
        ):
            again(config, "tracer/train/0/1")


def test_what_is_not_stored_is_named(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    with pytest.raises(ConfigError, match="no stored answers of episode 'chess/1'"):
        again(config, "chess/1")
    with pytest.raises(ConfigError, match=r"no branch 5/A/0; its branches: 0/A/0, 0/A/1"):
        again(config, "tracer/train/0/1", "5/A/0")
    with pytest.raises(ConfigError, match=r"branch 5/A/0/1.2; its branches: 0/A/0/, 0/A/1/"):
        again(config, "tracer/train/0/1", "5/A/0/1.2")


@pytest.mark.parametrize("episode", ["x", "tracer/train/0/99"])
def test_unknown_training_ids_are_answered_with_a_few_and_the_way_to_all(
    episode: str, tmp_path: Path, engines: Engines
) -> None:
    config = config_of(tmp_path, num_tasks=30)
    played(config, tmp_path)
    store = open_store(config.storage)
    ids = "tracer/train/0/0, tracer/train/0/1, tracer/train/0/2 and 27 more"
    command = f"`python -m pipelines episodes r --iteration 1 --store {store.uri}` shows all"
    for ask in (lambda: find_iteration(store, "r", episode), lambda: again(config, episode)):
        with pytest.raises(ConfigError) as found:
            ask()
        message = str(found.value)
        assert f"of episode {episode!r}; training of iteration 1 has {ids}: {command}" in message
        assert message.endswith("shows all")  # of held-out answers nothing was asked


def test_the_iteration_is_found_by_the_episode(tmp_path: Path, engines: Engines) -> None:
    config = config_of(tmp_path)
    played(config, tmp_path)
    played(config, tmp_path, iteration=2, next_task=3)
    store = open_store(config.storage)
    assert [find_iteration(store, "r", f"tracer/train/0/{n}") for n in (0, 2, 3)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("text", "branch"),
    [("0/tool/2", Branch(0, "tool", 2)), ("3/B/0/1.2", Branch(3, "B", 0, "1.2")),
     ("0/B/1/", Branch(0, "B", 1, ""))],
)  # fmt: skip
def test_how_a_branch_is_written(text: str, branch: Branch) -> None:
    assert parse_branch(text) == branch


@pytest.mark.parametrize("text", ["", "0", "0/a", "a/0/1", "0//1", "0/a/-1", "0/a/" + "9" * 5000])
def test_other_branches_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected TURN/ROLE/CANDIDATE"):
        parse_branch(text)
