"""What `serve` starts and says: plans of the servers that a team needs on this machine."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from components.models.local_servers import Plan, Running
from components.models.serving import engine_words, limits, servers, vllm_words
from components.models.tolerance import tolerant_folder
from pipelines.teams import FoundTeam


def plans(found: FoundTeam) -> list[Plan]:
    """The servers, with their weights fetched."""
    rollout, store = found.config.rollout, found.store
    cache = Path(found.config.storage.cache)
    length = rollout.max_prompt_tokens + rollout.max_new_tokens
    made = []
    for server in servers(found.team):
        weights = tolerant_folder(store.download_folder(server.weights.folder, cache), cache)
        adapters = {
            role: str(store.download_folder(ref.folder, cache).absolute())
            for role, ref in server.adapters.items()
        }
        limit = limits(store, server, length)
        words = vllm_words(str(weights.absolute()), server.roles, adapters, limit, rollout.dtype)
        words += engine_words(rollout.tensor_parallel, rollout.quantization)
        made.append(Plan(server.plays, words, rollout.kv_cache_mib))
    return made


def told(team: str, running: Sequence[Running]) -> Iterator[str]:
    """Where every role answers, and what to do with it."""
    for server in running:
        for role in server.roles:
            yield f"{role}: {server.url}/v1, model {role}"
    endpoints = " ".join(f"--endpoint {server.url}" for server in running)
    yield f"play: python -m pipelines play {team} --seed 0 {endpoints}"
    yield "ready; Ctrl-C ends it"
