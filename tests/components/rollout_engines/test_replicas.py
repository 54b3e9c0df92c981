"""Data parallel generation: the same answers as one engine, and failures that name the replica."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from components.engine import Completion, Request, Sampling
from components.errors import PolicyError, RolewiseError
from components.rollout.engines import open_engine
from components.rollout.replicas import ReplicatedEngine, split
from components.rollout.transformers_engine import TransformersEngine
from tests.components.rollout_engines.conftest import SETTINGS, World
from tests.components.rollout_engines.tiny_team import make_requests

SAMPLING = Sampling(max_new_tokens=16, max_prompt_tokens=64)
DOUBLE = SETTINGS.model_copy(update={"engine": "transformers", "data_parallel": 2})


@pytest.fixture(scope="module")
def replicas(world: World) -> Iterator[ReplicatedEngine]:
    engine = open_engine(DOUBLE, world.full, world.store, world.cache)
    assert isinstance(engine, ReplicatedEngine)
    yield engine
    engine.close()


def _requests(count: int) -> list[Request]:
    return make_requests(("planner", "tool"), 5, 2)[:count]


def _drawn(completions: list[Completion]) -> list[tuple[object, ...]]:
    return [
        (item.request_id, item.candidate, item.completion_ids, item.policy_version)
        for item in completions
    ]


@pytest.mark.full
def test_two_replicas_answer_as_one_engine(
    replicas: ReplicatedEngine, transformers_engine: TransformersEngine, world: World
) -> None:
    transformers_engine.reload(world.full)
    requests = _requests(7)
    apart = replicas.generate(requests, 2, SAMPLING)
    together = transformers_engine.generate(requests, 2, SAMPLING)
    assert _drawn(apart) == _drawn(together)
    for one, other in zip(apart, together, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    stats = replicas.stats()
    assert replicas.name == "transformers x 2"
    assert stats["num_completion_tokens"] == sum(len(item.completion_ids) for item in apart)


@pytest.mark.full
def test_fewer_prompts_than_replicas_are_answered(replicas: ReplicatedEngine) -> None:
    assert len(replicas.generate(_requests(1), 2, SAMPLING)) == 2
    assert replicas.generate([], 2, SAMPLING) == []


@pytest.mark.full
def test_a_prompt_over_its_limit_is_named_and_the_engine_lives(replicas: ReplicatedEngine) -> None:
    requests = _requests(4)
    long = replace(requests[3], messages=make_requests(("planner",), 4, 2, 99)[3].messages)
    with pytest.raises(RolewiseError, match=r"replica 1: .*planner-3.*tokens"):
        replicas.generate([*requests[:3], long], 2, SAMPLING)
    assert len(replicas.generate(requests, 2, SAMPLING)) == 8


@pytest.mark.full
def test_a_replica_that_dies_is_named(world: World) -> None:
    engine = ReplicatedEngine(DOUBLE, world.full, world.store, world.cache)
    try:
        os.kill(engine._processes[1].pid, signal.SIGKILL)
        with pytest.raises(RolewiseError, match="replica 1: its process ended with -9"):
            engine.generate(_requests(4), 2, SAMPLING)
    finally:
        engine.close()


@pytest.mark.full
def test_a_policy_that_cannot_be_loaded_ends_all_replicas(world: World) -> None:
    planner = replace(world.full.policies["planner"], sha256="0" * 64)
    team = replace(world.full, policies={**world.full.policies, "planner": planner})
    with pytest.raises(RolewiseError, match="replica 0: ") as caught:
        ReplicatedEngine(DOUBLE, team, world.store, world.cache)
    assert not isinstance(caught.value, PolicyError) or "planner" in str(caught.value)


@pytest.mark.parametrize(("count", "sizes"), [(0, [0, 0, 0]), (2, [1, 1, 0]), (8, [3, 3, 2])])
def test_blocks_are_consecutive_and_even(count: int, sizes: list[int]) -> None:
    blocks = split(_requests(count), 3)
    assert [len(block) for block in blocks] == sizes
    assert [item for block in blocks for item in block] == _requests(count)


def test_too_few_gpus_are_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    settings = SETTINGS.model_copy(update={"data_parallel": 2, "tensor_parallel": 2})
    with pytest.raises(RolewiseError, match="needs 4 GPUs, 3 are visible"):
        ReplicatedEngine(settings, world.full, world.store, world.cache)
