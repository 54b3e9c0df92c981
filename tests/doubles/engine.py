"""An engine that answers from a script or from its seeds, and remembers what it was asked."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from components.engine import Completion, FinishReason, Request, Sampling
from components.errors import RolewiseError

Answer = Callable[[Request, int], str | None]
"""(request, position of the candidate) -> text; None: this generation fails."""


def seeded(words: Sequence[str]) -> Answer:
    """Texts that depend on policy, prompt and seed, and on nothing else."""

    def answer(request: Request, position: int) -> str:
        key = [request.policy, list(request.messages), request.seeds[position]]
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).digest()
        return words[digest[0] % len(words)]

    return answer


def by_policy(texts: Mapping[str, Sequence[str]]) -> Answer:
    """The candidate at position p of policy m always writes `texts[m][p]`."""
    return lambda request, position: texts[request.policy][position % len(texts[request.policy])]


class FakeEngine:
    """Implements components.engine.Engine. One token per word; every log-prob is -0.5."""

    name = "fake"

    def __init__(self, answer: Answer, versions: Mapping[str, str] | None = None) -> None:
        self.answer = answer
        self.versions = versions or {}
        self.batches: list[list[Request]] = []
        self.samplings: list[Sampling] = []
        self.num_tokens = 0
        self.closed = False

    @property
    def prompts(self) -> list[str]:
        """The last message of every request, in the order of asking."""
        return [request.messages[-1]["content"] for batch in self.batches for request in batch]

    def generate(self, requests: Sequence[Request], n: int, sampling: Sampling) -> list[Completion]:
        assert not self.closed
        self.batches.append(list(requests))
        self.samplings.append(sampling)
        for request in requests:
            assert len(request.seeds) == n
            length = len(_words(request))
            if length > sampling.max_prompt_tokens:
                raise RolewiseError(
                    f"{request.request_id}: the prompt has {length} tokens, "
                    f"expected at most {sampling.max_prompt_tokens}"
                )
        return [
            self._completion(request, position) for request in requests for position in range(n)
        ]

    def stats(self) -> Mapping[str, float]:
        prompts = sum(len(_words(request)) for batch in self.batches for request in batch)
        return {
            "num_prompt_tokens": float(prompts),
            "num_completion_tokens": float(self.num_tokens),
            "generate_s": 0.5,
            "load_s": 0.25,
        }

    def close(self) -> None:
        self.closed = True

    def _completion(self, request: Request, position: int) -> Completion:
        text = self.answer(request, position)
        tokens = tuple(_token(word) for word in (text or "").split())
        self.num_tokens += len(tokens)
        return Completion(
            request_id=request.request_id,
            candidate=position,
            seed=request.seeds[position],
            policy=request.policy,
            policy_version=self.versions.get(request.policy, f"{request.policy}@0-fake"),
            prompt_ids=tuple(_token(word) for word in _words(request)),
            completion_ids=tokens,
            logprobs=(-0.5,) * len(tokens),
            text=text or "",
            finish_reason=FinishReason.ERROR if text is None else FinishReason.STOP,
            error="scripted failure" if text is None else None,
        )


def _words(request: Request) -> list[str]:
    return " ".join(message["content"] for message in request.messages).split()


def _token(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big")
