"""Which servers a team needs: one per distinct weights; adapters on one base share its server.

A server answers to the names of the roles that it plays, so a client asks for `planner` and never
needs to know which policy plays it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.errors import PolicyError
from components.policies import PolicyRef, Team
from components.storage import Store
from components.storage.folders import key_of

BASE_NAME = "base"
"""Under which a server of adapters alone answers with its bare base."""
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM takes for --max-lora-rank; an adapter takes the next one up."""
_AS_IN_TRAINING = '{"enable_thinking": false}'
"""For templates that know the switch; see components/chat.py."""


@dataclass(frozen=True)
class Server:
    """One vLLM server."""

    weights: PolicyRef
    """Full weights: a policy's own, or the base of adapters."""
    roles: tuple[str, ...]
    """Played by the weights themselves."""
    adapters: dict[str, PolicyRef] = field(default_factory=dict)
    """role -> the adapter that plays it."""

    @property
    def plays(self) -> tuple[str, ...]:
        """All roles."""
        return (*self.roles, *self.adapters)


@dataclass(frozen=True)
class Limits:
    """What a server must hold."""

    max_length: int
    """Tokens of prompt and answer together."""
    max_rank: int
    """Of its adapters; 0 without any."""


def servers(team: Team, per_role: bool = False) -> list[Server]:
    """The servers of a team, in the order of its roles; `per_role`: one for each role."""
    found: dict[str, Server] = {}
    for role in team.roles:
        ref = team.of(role)
        weights = ref.base or ref
        key = role if per_role else weights.sha256
        server = found.setdefault(key, Server(weights, ()))
        if ref.base is None:
            found[key] = Server(weights, (*server.roles, role), server.adapters)
        else:
            found[key] = Server(weights, server.roles, {**server.adapters, role: ref})
    return list(found.values())


def limits(store: Store, server: Server, max_length: int) -> Limits:
    """What the stored folders say, without fetching weights."""
    positions = _number(store, server.weights, "config.json", "max_position_embeddings")
    ranks = [_number(store, ref, "adapter_config.json", "r") for ref in server.adapters.values()]
    return Limits(min(max_length, positions), max(ranks, default=0))


def vllm_words(
    weights: str, roles: Sequence[str], adapters: Mapping[str, str], limit: Limits, dtype: str
) -> list[str]:
    """Arguments of `vllm serve`, but for its address.

    Args:
        weights: the folder of the full weights, where the server reads it.
        roles: whom the weights themselves play.
        adapters: role -> the folder of the adapter that plays it.
    """
    words = [weights, "--served-model-name", *(roles or [BASE_NAME])]
    words += ["--max-model-len", str(limit.max_length), "--dtype", dtype]
    words += ["--default-chat-template-kwargs", _AS_IN_TRAINING]
    if adapters:
        rank = next((known for known in RANKS if known >= limit.max_rank), limit.max_rank)
        words += ["--enable-lora", "--max-loras", str(len(adapters))]
        words += ["--max-lora-rank", str(rank), "--lora-modules"]
        words += [f"{role}={folder}" for role, folder in adapters.items()]
    return words


def engine_words(tensor_parallel: int, quantization: str | None) -> list[str]:
    """The arguments that say how vLLM runs it, as the team was trained: `rollout`'s."""
    words = ["--tensor-parallel-size", str(tensor_parallel)]
    return words + (["--quantization", quantization] if quantization else [])


def _number(store: Store, ref: PolicyRef, file: str, key: str) -> int:
    data = store.read(f"{key_of(store.uri, ref.folder)}/{file}")
    try:
        value: Any = json.loads(data)[key]
    except (ValueError, LookupError, TypeError) as error:
        raise PolicyError(f"policy {ref.tag}: {file} has no {key}: {error}") from error
    if not isinstance(value, int):
        raise PolicyError(f"policy {ref.tag}: {file} has {key} = {value!r}, expected an integer")
    return value
