"""The Engine protocol: text generation as the turn loop sees it.

Implementations live in `components/rollout`; nothing here imports a model library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from envs.base import Message


class FinishReason(StrEnum):
    """Why a completion ended."""

    STOP = "stop"
    LENGTH = "length"
    """Cut at `max_new_tokens`: still an answer."""
    ERROR = "error"
    """Nothing usable was generated; `Completion.error` says why."""


@dataclass(frozen=True)
class Sampling:
    """The distribution that tokens are drawn from. Recorded with every candidate."""

    temperature: float = 1.0
    """0 is greedy: the most likely token."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps all tokens."""
    max_new_tokens: int = 256
    max_prompt_tokens: int = 4096
    """A longer prompt is an error before generation."""

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is always taken."""
        return self.temperature == 0.0

    @property
    def truncated(self) -> bool:
        """Whether tokens of positive probability cannot be drawn."""
        return self.greedy or self.top_p < 1.0 or self.top_k > 0


@dataclass(frozen=True)
class Request:
    """One prompt, to be answered once for each seed by one policy."""

    request_id: str
    policy: str
    """A key of the team's policies."""
    messages: tuple[Message, ...]
    seeds: tuple[int, ...]
    """One per candidate, `[num_candidates]`; each in [0, 2^63)."""


@dataclass(frozen=True)
class Completion:
    """One answer, exactly as the engine made it. Token ids are never recomputed from text."""

    request_id: str
    candidate: int
    """Position of its seed in the request."""
    seed: int
    policy: str
    policy_version: str
    """`PolicyRef.tag` of the weights that answered."""
    prompt_ids: tuple[int, ...]
    """`[num_prompt_tokens]`, after the chat template."""
    completion_ids: tuple[int, ...]
    """`[num_tokens]`, the end token included when it was drawn; empty on error."""
    logprobs: tuple[float, ...]
    """`[num_tokens]`, natural log, under the distribution each token was drawn from
    (temperature and truncation included); greedy: under the untruncated T = 1 distribution."""
    text: str
    """Decoded without special tokens."""
    finish_reason: FinishReason
    error: str | None = None


class Engine(Protocol):
    """Generates for one or several policies. Deterministic given seeds, weights and batch."""

    name: str

    def generate(self, requests: Sequence[Request], n: int, sampling: Sampling) -> list[Completion]:
        """`n` completions for each request, in request order, then candidate order.

        `len(request.seeds) == n` for every request. A prompt longer than
        `sampling.max_prompt_tokens` raises RolewiseError that names the request; a completion that
        fails alone comes back with finish_reason ERROR.
        """
        ...

    def stats(self) -> Mapping[str, float]:
        """Totals so far: num_prompt_tokens, num_completion_tokens, generate_s, load_s."""
        ...

    def close(self) -> None:
        """Free the weights. A closed engine is not used again."""
        ...
