"""What a rollout step does until it has played, as a process: for bench_warm_servers.

    python -m tests.benchmarks.served_step STORE CACHE POLICY.json [URL KEY]

With a server: load the policy's weights in place, then play. Without: open vLLM here, then play.
Prints one JSON line: seconds to load, seconds to generate, tokens.
"""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from components.engine import Sampling
from components.policies import PolicyRef
from components.process import make_exit_fast, without_collector
from components.settings import RolloutConfig
from tests.components.rollout_engines.tiny_team import make_requests, make_store, make_team

SETTINGS = RolloutConfig(max_prompt_tokens=64, max_new_tokens=16)
NUM_REQUESTS, NUM_CANDIDATES = 32, 8


def main(store: str, cache: str, policy: str, *server: str) -> None:
    ref = PolicyRef.from_json(json.loads(policy))
    begun = time.perf_counter()
    with without_collector():
        engine = open_engine(Path(store), Path(cache), ref, *server)
    load_s = time.perf_counter() - begun
    requests = make_requests([ref.name], NUM_REQUESTS, NUM_CANDIDATES)
    found = engine.generate(requests, NUM_CANDIDATES, Sampling(max_new_tokens=16))
    ids = [list(each.completion_ids) for each in found]
    generate_s = time.perf_counter() - begun - load_s
    print(json.dumps({"load_s": load_s, "generate_s": generate_s, "ids": ids}))
    make_exit_fast()


def open_engine(folder: Path, cache: Path, ref: PolicyRef, *server: str) -> Any:
    store, team = make_store(folder), make_team({ref.name: ref})
    if not server:
        from components.rollout.vllm_engine import VllmEngine

        return VllmEngine(SETTINGS, team, store, cache)
    from components.rollout.server_client import ServerClient
    from components.rollout.server_engine import Endpoint, FixedServers, ServerEngine
    from components.rollout.server_files import LightFolders
    from components.rollout.warm.process import NAME

    client = ServerClient(*server)
    client.post("/warm/weights", asdict(ref.folder))
    for ids in ([*range(3, 27)],) * 8:  # as many as a probe has
        client.logprobs(NAME, ids)
    servers = FixedServers({ref.name: Endpoint(client, NAME)})
    return ServerEngine(SETTINGS, team, LightFolders(store), cache, servers)


if __name__ == "__main__":
    main(*sys.argv[1:])
