"""The engine over servers: what it asks, what it makes of faults, and that it waits and repeats."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.engine import FinishReason, Sampling
from components.errors import RolewiseError
from components.policies import PolicyRef, Team
from components.rollout.server_client import ServerClient
from components.rollout.server_engine import Endpoint, FixedServers, ServerEngine
from components.rollout.server_files import LightFolders
from components.settings import RolloutConfig
from components.storage import Store
from tests.components.rollout_engines.tiny_team import (
    make_policy,
    make_requests,
    make_store,
    make_team,
)
from tests.components.rollout_server.serving import fake_server
from tests.doubles.warm_server import FakeServer, logprob

SETTINGS = RolloutConfig(max_prompt_tokens=64, max_new_tokens=8)
SAMPLING = Sampling(temperature=0.7, top_p=0.9, top_k=5, max_new_tokens=8)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, PolicyRef]:
    folder = tmp_path_factory.mktemp("served")
    store = make_store(folder / "store")
    return store, make_policy(store, folder, "solo", 0)


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    with fake_server(weights="w") as made:
        yield made


def open_engine(fake: FakeServer, policy: tuple[Store, PolicyRef], cache: Path) -> ServerEngine:
    endpoint = Endpoint(ServerClient(fake.url, fake.key, timeout_s=5.0), "weights")
    servers = FixedServers({"solo": endpoint}, patience_s=2.0)
    team = make_team({"solo": policy[1]})
    return ServerEngine(SETTINGS, team, LightFolders(policy[0]), cache, servers)


def test_every_candidate_is_a_request_with_its_own_seed_and_all_settings(
    fake: FakeServer, policy: tuple[Store, PolicyRef], tmp_path: Path
) -> None:
    engine = open_engine(fake, policy, tmp_path)
    requests = make_requests(["solo"], 3, 2)
    found = engine.generate(requests, 2, SAMPLING)
    assert [(c.request_id, c.candidate) for c in found] == [
        (request.request_id, candidate) for request in requests for candidate in range(2)
    ]
    seeds = [seed for request in requests for seed in request.seeds]
    assert [c.seed for c in found] == seeds == sorted(seeds, key=seeds.index)
    assert {body["seed"] for body in fake.bodies} == set(seeds)
    for body in fake.bodies:
        asked = {name: body[name] for name in ("temperature", "top_p", "top_k", "max_tokens")}
        assert asked == {"temperature": 0.7, "top_p": 0.9, "top_k": 5, "max_tokens": 8}
        assert body["stop_token_ids"] and body["logprobs"] == 0 and body["return_token_ids"]
    first = found[0]
    assert first.logprobs[0] == logprob("w", [*first.prompt_ids, first.completion_ids[0]])
    assert first.policy_version == policy[1].tag and first.finish_reason is FinishReason.LENGTH
    stats = engine.stats()
    assert stats["num_completion_tokens"] == 6 * 8
    assert stats["num_prompt_tokens"] == sum(len(c.prompt_ids) for c in found[::2])
    engine.close()


def test_weights_stay_where_they_are(
    fake: FakeServer, policy: tuple[Store, PolicyRef], tmp_path: Path
) -> None:
    open_engine(fake, policy, tmp_path).close()
    light = tmp_path / "light" / policy[1].sha256
    assert (light / "tokenizer.json").is_file() and not list(light.glob("*.safetensors"))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_or_stumbling_server_is_asked_again(
    fake: FakeServer, policy: tuple[Store, PolicyRef], tmp_path: Path, status: int
) -> None:
    engine = open_engine(fake, policy, tmp_path)
    fake.statuses = [status]
    found = engine.generate(make_requests(["solo"], 2, 2), 2, SAMPLING)
    assert all(c.error is None for c in found) and len(fake.bodies) == 5
    engine.close()


def test_a_request_that_is_refused_is_a_failed_generation(
    fake: FakeServer, policy: tuple[Store, PolicyRef], tmp_path: Path
) -> None:
    engine = open_engine(fake, policy, tmp_path)
    fake.statuses = [400]
    found = engine.generate(make_requests(["solo"], 1, 2), 2, SAMPLING)
    failed = [c for c in found if c.finish_reason is FinishReason.ERROR]
    assert len(failed) == 1 and "400: a fault on demand" in str(failed[0].error)
    engine.close()


def test_what_a_server_never_answers_fails_alone(
    fake: FakeServer, policy: tuple[Store, PolicyRef], tmp_path: Path
) -> None:
    engine = open_engine(fake, policy, tmp_path)
    bad = make_requests(["solo"], 1, 3)[0].seeds[1]
    usual = fake.answer

    def answer(path: str, body: dict[str, Any], expected: str | None) -> tuple[int, Any]:
        return (500, {"error": "boom"}) if body.get("seed") == bad else usual(path, body, expected)

    fake.answer = answer  # type: ignore[method-assign]
    found = engine.generate(make_requests(["solo"], 1, 3), 3, SAMPLING)
    assert [c.error is None for c in found] == [True, False, True]
    engine.close()


def test_a_wrong_key_and_a_server_that_is_gone_are_one_sentence(
    policy: tuple[Store, PolicyRef], tmp_path: Path
) -> None:
    with fake_server(weights="w") as fake:
        engine = open_engine(fake, policy, tmp_path)
        engine._endpoints["solo"].client._headers["Authorization"] = "Bearer other"
        with pytest.raises(RolewiseError, match="401: Unauthorized; 4 times in a row"):
            engine.generate(make_requests(["solo"], 1, 2), 2, SAMPLING)
    with pytest.raises(RolewiseError, match="no server has answered for 2 s"):
        engine.generate(make_requests(["solo"], 1, 2), 2, SAMPLING)
    engine.close()


def test_a_server_that_comes_back_is_waited_for(
    policy: tuple[Store, PolicyRef], tmp_path: Path
) -> None:
    with fake_server(weights="w") as fake:
        engine, port = open_engine(fake, policy, tmp_path), fake.port
    again: list[Any] = []

    def back() -> None:
        context = fake_server(weights="w", port=port)
        again.append((context, context.__enter__()))

    timer = threading.Timer(0.5, back)
    timer.start()
    found = engine.generate(make_requests(["solo"], 2, 2), 2, SAMPLING)
    timer.join()
    assert all(c.error is None for c in found) and len(again[0][1].bodies) == 4
    again[0][0].__exit__(None, None, None)
    engine.close()


def test_a_policy_without_a_server_is_named(fake: FakeServer) -> None:
    team = Team({"solo": PolicyRef("solo", 0, "u", "a" * 64, 1)}, {"role": "solo"})
    with pytest.raises(
        RolewiseError, match=r"policy 'solo' has no server, expected one of \['x'\]"
    ):
        FixedServers({"x": Endpoint(ServerClient(fake.url), "x")}).arrange(team)
