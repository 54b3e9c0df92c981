"""One small world for all engine tests: three models, two adapters, and each engine opened once."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from components.policies import PolicyRef, Team
from components.rollout.transformers_engine import TransformersEngine
from components.rollout.vllm_engine import VllmEngine, probe
from components.settings import RolloutConfig
from components.storage import Store
from tests.components.rollout_engines.tiny_team import (
    make_adapter,
    make_policy,
    make_store,
    make_team,
)

SETTINGS = RolloutConfig(max_prompt_tokens=64, max_new_tokens=16)


@dataclass(frozen=True)
class World:
    store: Store
    cache: Path
    full: Team
    adapted: Team
    """Two adapters and their base itself."""

    def folder(self, ref: PolicyRef) -> Path:
        return self.store.download_folder(ref.folder, self.cache)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("engines")
    probe()  # vLLM first: it settles torch's threads and log levels for this process
    store = make_store(folder / "store")
    planner, tool = (make_policy(store, folder, name, k, 3.0) for k, name in enumerate("pt"))
    left, right = (make_adapter(store, folder, name, planner, k) for k, name in enumerate("lr"))
    return World(
        store,
        folder / "cache",
        make_team({"planner": planner, "tool": tool}),
        make_team({"left": left, "right.2": right, "planner": planner}),
    )


@pytest.fixture(scope="session")
def vllm_engine(world: World) -> Iterator[VllmEngine]:
    engine = VllmEngine(SETTINGS, world.full, world.store, world.cache)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def transformers_engine(world: World) -> Iterator[TransformersEngine]:
    engine = TransformersEngine(SETTINGS, world.full, world.store, world.cache)
    yield engine
    engine.close()


@pytest.fixture(params=["vllm", "transformers"])
def engine(request: pytest.FixtureRequest, world: World) -> Any:
    """Each engine in turn, playing the team of full weights."""
    engine = request.getfixturevalue(f"{request.param}_engine")
    engine.reload(world.full)
    return engine
