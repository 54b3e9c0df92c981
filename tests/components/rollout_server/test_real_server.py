"""Real warm servers: the same samples as in a step's own process, weights replaced in place and
proved, adapters by the runtime endpoints, and a death in the middle of a batch.
"""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file, save_file

from components.engine import Completion, Sampling
from components.policies import Team
from components.probes import Probe
from components.rollout.server_client import ServerClient, ServerGone
from components.rollout.server_engine import Endpoint, FixedServers, ServerEngine
from components.rollout.vllm_engine import VllmEngine
from components.rollout.warm.probe import StaleWeights, check, judge
from components.rollout.warm.process import NAME
from components.rollout.warm.team import answers
from tests.components.rollout_engines.conftest import World
from tests.components.rollout_engines.conftest import world as world
from tests.components.rollout_engines.tiny_team import make_requests, make_team
from tests.components.rollout_server.real import (
    SETTINGS,
    Real,
    expected_logprobs,
    real_server,
)

pytestmark = pytest.mark.full
SAMPLING = Sampling(max_new_tokens=16, max_prompt_tokens=64)
SEQUENCES = [[3 + (7 * start + 5 * at) % 36 for at in range(24)] for start in range(16)]
LIMIT = 0.001


@pytest.fixture(scope="module")
def own(world: World) -> Iterator[VllmEngine]:
    engine = VllmEngine(SETTINGS, world.full, world.store, world.cache)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def full(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    folder = tmp_path_factory.mktemp("full")
    with real_server(world.store, folder, world.full.policies["planner"]) as made:
        yield made


def engine_over(world: World, team: Team, endpoints: dict[str, Endpoint]) -> ServerEngine:
    servers = FixedServers(endpoints, patience_s=300.0)
    return ServerEngine(SETTINGS, team, world.store, world.cache, servers)


def same(ours: list[Completion], theirs: list[Completion]) -> None:
    """Token by token; and log-probs to the last digits: no batch is cut otherwise on a CPU."""
    for a, b in zip(ours, theirs, strict=True):
        assert replace(a, logprobs=()) == replace(b, logprobs=())
        assert a.logprobs == pytest.approx(b.logprobs, abs=1e-5)


@pytest.mark.parametrize(
    "sampling",
    [
        SAMPLING,
        replace(SAMPLING, temperature=0.7, top_k=12),
        replace(SAMPLING, temperature=1.3, top_p=0.8),
        replace(SAMPLING, temperature=0.0),
    ],
    ids=["plain", "top_k", "top_p", "greedy"],
)
def test_answers_are_those_of_the_steps_own_engine(
    world: World, own: VllmEngine, full: Real, sampling: Sampling
) -> None:
    team = make_team({"planner": world.full.policies["planner"]})
    put(full, world, "planner")
    own.reload(team)
    served = engine_over(world, team, {"planner": Endpoint(full.client, NAME)})
    requests = make_requests(["planner"], 12, 4)
    same(own.generate(requests, 4, sampling), served.generate(requests, 4, sampling))
    assert served.stats()["num_completion_tokens"] > 0
    served.close()


def put(real: Real, world: World, policy: str) -> None:
    """Have a policy's full weights loaded."""
    ref = world.full.policies[policy]
    if real.client.get("/warm/state")["weights"] != ref.sha256:
        real.client.post("/warm/weights", asdict(ref.folder))


def make_probe(before: Path, after: Path) -> Probe:
    """What an update from one policy to the other would have written."""
    values = [expected_logprobs(folder, SEQUENCES) for folder in (before, after)]
    old, new = ([tuple(each[3:]) for each in value] for value in values)
    prompts = tuple(tuple(ids[:4]) for ids in SEQUENCES)
    completions = tuple(tuple(ids[4:]) for ids in SEQUENCES)
    return Probe(prompts, completions, tuple(old), tuple(new))


def test_weights_are_replaced_in_place_and_the_probe_tells(
    world: World, own: VllmEngine, full: Real
) -> None:
    team = make_team({"tool": world.full.policies["tool"]})
    before, after = (world.folder(world.full.policies[name]) for name in ("planner", "tool"))
    probe, client = make_probe(before, after), full.client
    put(full, world, "planner")
    endpoint = Endpoint(client, NAME)
    with pytest.raises(StaleWeights, match="answers with other weights"):
        check(judge(probe, answers(endpoint, probe)), LIMIT, "before")
    with pytest.raises(StaleWeights, match="stale weights: 0.0% of the update's change"):
        check(judge(probe, answers(endpoint, probe)), 100.0, "before")
    answered = client.post("/warm/weights", asdict(world.full.policies["tool"].folder))
    assert answered["weights"] == world.full.policies["tool"].sha256
    verdict = judge(probe, answers(endpoint, probe))
    check(verdict, LIMIT, "after")
    assert verdict.share == pytest.approx(1.0, abs=1e-4) and verdict.gap < 1e-4
    own.reload(team)
    served = engine_over(world, team, {"tool": endpoint})
    requests = make_requests(["tool"], 8, 4)
    same(own.generate(requests, 4, SAMPLING), served.generate(requests, 4, SAMPLING))
    with pytest.raises(ServerGone, match="409"):
        client.logprobs(NAME, SEQUENCES[0], {"x-warm-weights": "other"})
    served.close()


def test_an_output_layer_that_was_left_behind_is_caught(world: World, tmp_path: Path) -> None:
    """Tied weights, packed once by vLLM on CPUs: reloaded without packing again, the embedding is
    new and the output layer old."""
    from components.rollout.vllm_options import vllm_environment, without_compiler
    from components.rollout.vllm_weights import pack_output_layer

    team = make_team({"planner": world.full.policies["planner"]})
    engine = VllmEngine(SETTINGS, team, world.store, world.cache)
    (model,) = engine._models.values()
    folder = moved(world.folder(world.full.policies["planner"]), tmp_path)
    probe = make_probe(world.folder(world.full.policies["planner"]), folder)
    with vllm_environment(), without_compiler():
        model.collective_rpc("reload_weights", kwargs={"weights_path": str(folder)})
        model.reset_prefix_cache()
        found = own_logprobs(model)
        model.apply_model(pack_output_layer)
        whole = own_logprobs(model)
    with pytest.raises(StaleWeights, match="answers with other weights"):
        check(judge(probe, found), LIMIT, "half")
    check(judge(probe, whole), LIMIT, "whole")
    engine.close()


def moved(folder: Path, target: Path) -> Path:
    """The policy after an update that changed every weight by about a hundredth."""
    rng = np.random.default_rng(0)
    copy = target / "moved"
    shutil.copytree(folder, copy)
    file = copy / "model.safetensors"
    weights = {
        name: (value * (1 + 0.01 * rng.standard_normal(value.shape))).astype(value.dtype)
        for name, value in load_file(str(file)).items()
    }
    file.unlink()
    save_file(weights, str(file), metadata={"format": "pt"})
    return copy


def own_logprobs(model: Any) -> list[list[float]]:
    """Of the probe's completions, by vLLM in this process."""
    from vllm import SamplingParams

    settings = SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False)
    outputs = model.generate(
        [{"prompt_token_ids": ids} for ids in SEQUENCES], settings, use_tqdm=False
    )
    return [
        [
            entry[token].logprob
            for token, entry in zip(ids[4:], output.prompt_logprobs[4:], strict=True)
        ]
        for ids, output in zip(SEQUENCES, outputs, strict=True)
    ]


def test_adapters_come_and_go_by_the_runtime_endpoints(
    world: World, own: VllmEngine, tmp_path: Path
) -> None:
    base = world.full.policies["planner"]
    refs = {name: world.adapted.policies[name] for name in ("left", "right.2")}
    with real_server(world.store, tmp_path, base, (4, 4), "lora") as real:
        client = real.client
        for name, ref in refs.items():
            folder = client.post("/warm/fetch", asdict(ref.folder))["folder"]
            client.load_adapter(f"{name}-x", folder)
        assert client.models() == [NAME, "left-x", "right.2-x"]
        models = {name: f"{name}-x" for name in refs} | {"planner": NAME}
        endpoints = {policy: Endpoint(client, model) for policy, model in models.items()}
        own.reload(world.adapted)
        served = engine_over(world, world.adapted, endpoints)
        requests = make_requests([*refs, "planner"], 4, 4)
        same(own.generate(requests, 4, SAMPLING), served.generate(requests, 4, SAMPLING))
        for name, ref in refs.items():
            expected = expected_logprobs(world.folder(ref), SEQUENCES, world.folder(base))
            found = [client.logprobs(f"{name}-x", ids) for ids in SEQUENCES]
            for a, b in zip(found, expected, strict=True):
                assert a == pytest.approx(b, abs=1e-4)
        client.unload_adapter("left-x")
        assert client.models() == [NAME, "right.2-x"]
        with pytest.raises(ServerGone, match="404"):
            client.logprobs("left-x", SEQUENCES[0])
        served.close()


def test_a_server_killed_in_the_middle_of_a_batch_is_back_with_the_same_answers(
    world: World, own: VllmEngine, full: Real
) -> None:
    team = make_team({"planner": world.full.policies["planner"]})
    put(full, world, "planner")
    served = ServerEngine(SETTINGS, team, world.store, world.cache, Again(full))
    requests = make_requests(["planner"], 48, 8)
    threading.Timer(0.3, lambda: vllm_of(full).kill()).start()
    found = served.generate(requests, 8, SAMPLING)
    assert "vLLM ended with" in full.log and full.log.count("ready") == 2
    own.reload(team)
    same(own.generate(requests, 8, SAMPLING), found)
    served.close()


class Again:
    """Implements Servers by one that is let in anew, whenever it is arranged."""

    def __init__(self, real: Real) -> None:
        self._real = real

    def arrange(self, team: Team) -> dict[str, Endpoint]:
        from components.rollout.server_engine import await_ready

        client: ServerClient = self._real.client
        await_ready(client, 600.0)
        return {"planner": Endpoint(client, NAME)}


def vllm_of(real: Real) -> psutil.Process:
    """The process that answers requests."""
    (child,) = psutil.Process(real.place.pid(real.server.name)).children()
    return child
