"""Which servers a team needs: one per distinct weights; adapters on one base share its server.

A server answers to the names of the roles that it plays, so a client asks for `planner` and never
needs to know which policy plays it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.policies import PolicyRef, Team

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


def servers(team: Team) -> list[Server]:
    """The servers of a team, in the order of its roles."""
    found: dict[str, Server] = {}
    for role in team.roles:
        ref = team.of(role)
        weights = ref.base or ref
        server = found.setdefault(weights.sha256, Server(weights, ()))
        if ref.base is None:
            server = Server(server.weights, (*server.roles, role), server.adapters)
        else:
            server = Server(server.weights, server.roles, {**server.adapters, role: ref})
        found[weights.sha256] = server
    return list(found.values())


def vllm_words(
    weights: str, roles: Sequence[str], adapters: Mapping[str, str], max_length: int, dtype: str,
    max_rank: int,
) -> list[str]:  # fmt: skip
    """Arguments of `vllm serve`, but for its address.

    Args:
        weights: the folder of the full weights, where the server reads it.
        roles: whom the weights themselves play.
        adapters: role -> the folder of the adapter that plays it.
        max_length: tokens of prompt and answer together.
        max_rank: the largest rank of the adapters; 0 without any.
    """
    words = [weights, "--served-model-name", *(roles or [BASE_NAME])]
    words += ["--max-model-len", str(max_length), "--dtype", dtype]
    words += ["--default-chat-template-kwargs", _AS_IN_TRAINING]
    if adapters:
        rank = next((known for known in RANKS if known >= max_rank), max_rank)
        words += ["--enable-lora", "--max-loras", str(len(adapters))]
        words += ["--max-lora-rank", str(rank), "--lora-modules"]
        words += [f"{role}={folder}" for role, folder in adapters.items()]
    return words
