"""HTTP to an OpenAI-compatible server of vLLM: completions of token ids, adapters, readiness.

Usable by itself: an address and a key are all that it needs. Knows no policies and no runs.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import urllib3

from components.engine import FinishReason, Sampling
from components.errors import RolewiseError
from components.rollout.answers import Draw, failed

RETRIED = (408, 429, 502, 503, 504)
"""Answers of a server, or of what stands before it, that is busy for a moment."""
OTHER = (401, 404, 409, 500)
"""Answers of a server that was started again, with another key, without adapters, with other
weights, or that is about to die: whoever arranges the team puts that right."""


class ServerError(RolewiseError):
    """The server refuses what is asked: asking again would not help."""


class ServerGone(RolewiseError):
    """The server does not answer, or not with the weights that were asked for."""


class ServerClient:
    """One server. Safe to use from several threads."""

    def __init__(
        self, url: str, key: str | None = None, *, concurrency: int = 256, timeout_s: float = 600.0
    ) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout_s = timeout_s
        self._pool = urllib3.PoolManager(maxsize=concurrency, retries=False)

    def get(self, path: str, timeout_s: float | None = None) -> Any:
        """What lies at a path: JSON, text, or None for an empty answer."""
        return self._call("GET", path, None, {}, timeout_s)

    def post(self, path: str, body: Any, headers: Mapping[str, str] = {}) -> Any:
        """What a path answers, as `get`."""
        return self._call("POST", path, body, headers, None)

    def is_ready(self) -> bool:
        """Whether it answers at all."""
        try:
            self.get("/health", timeout_s=5.0)
        except (ServerGone, ServerError):
            return False
        return True

    def models(self) -> list[str]:
        """Names that can be asked for: the model, then its adapters."""
        found = self.get("/v1/models")
        try:
            return [str(model["id"]) for model in found["data"]]
        except (LookupError, TypeError) as error:
            raise ServerError(
                f"{self.url}/v1/models: not a list of models: {str(found)[:100]!r}; is it the "
                "address of vLLM's server?"
            ) from error

    def load_adapter(self, name: str, folder: str) -> None:
        """Load an adapter from a folder on the server's machine."""
        self.post("/v1/load_lora_adapter", {"lora_name": name, "lora_path": folder})

    def unload_adapter(self, name: str) -> None:
        """Forget an adapter."""
        self.post("/v1/unload_lora_adapter", {"lora_name": name})

    def draw(
        self,
        model: str,
        prompt_ids: Sequence[int],
        seed: int,
        sampling: Sampling,
        stop_ids: Sequence[int],
        headers: Mapping[str, str] = {},
    ) -> Draw:
        """One answer, drawn as vLLM in a step's own process draws it.

        A refusal is a failed draw; ServerGone if another try may succeed.
        """
        body = {
            "model": model, "prompt": list(prompt_ids), "seed": seed, "n": 1,
            "max_tokens": sampling.max_new_tokens, "temperature": sampling.temperature,
            "top_p": sampling.top_p, "top_k": sampling.top_k, "stop_token_ids": list(stop_ids),
            "logprobs": 0, "return_token_ids": True, "return_tokens_as_token_ids": True,
        }  # fmt: skip
        try:
            answer = self.post("/v1/completions", body, headers)
            return _draw(answer["choices"][0])
        except ServerError as error:
            return failed(str(error))
        except (LookupError, TypeError, ValueError) as error:
            return failed(f"{self.url}: not an answer of vLLM's /v1/completions: {error!r}")

    def logprobs(
        self, model: str, ids: Sequence[int], headers: Mapping[str, str] = {}
    ) -> list[float]:
        """Natural log-probs at T = 1 of every token but the first, `[len(ids) - 1]`, computed
        anew: without cached prompts."""
        body = {
            "model": model, "prompt": list(ids), "max_tokens": 1, "temperature": 0.0,
            "prompt_logprobs": 0,
        }  # fmt: skip
        answer = self.post("/v1/completions", body, headers)
        entries = answer["choices"][0]["prompt_logprobs"][1:]
        return [
            float(entry[str(token)]["logprob"])
            for token, entry in zip(ids[1:], entries, strict=True)
        ]

    def close(self) -> None:
        """Close its connections."""
        self._pool.clear()

    def _call(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], timeout_s: float | None
    ) -> Any:
        """A call; a busy server is asked again for as long as a call may take."""
        end, pause_s = time.monotonic() + (timeout_s or self._timeout_s), 0.1
        while True:
            answer = self._once(method, path, body, headers, end - time.monotonic())
            if answer.status < 300:
                return _content(answer)
            words = f"{self.url}{path}: {answer.status}: {_reason(answer.data)}"
            if answer.status in RETRIED and time.monotonic() + pause_s < end:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, 10.0)
            elif answer.status in (*OTHER, *RETRIED):
                raise ServerGone(words)
            else:
                raise ServerError(words)

    def _once(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], timeout_s: float
    ) -> Any:
        try:
            return self._pool.request(
                method, self.url + path, headers={**self._headers, **headers},
                body=None if body is None else json.dumps(body).encode(),
                timeout=urllib3.Timeout(connect=min(10.0, timeout_s), read=max(timeout_s, 0.1)),
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            reason = " ".join(str(error).split())[:200]
            raise ServerGone(f"{self.url}{path}: no answer: {reason}") from error


def _content(answer: Any) -> Any:
    """JSON, or the text of an answer that is none, such as that of a loaded adapter."""
    if not answer.data:
        return None
    if "json" not in answer.headers.get("content-type", ""):
        return answer.data.decode()
    return json.loads(answer.data)


def _draw(choice: Mapping[str, Any]) -> Draw:
    if choice["finish_reason"] not in ("stop", "length"):
        return failed(f"vLLM ended the request with {choice['finish_reason']!r}")
    ids = tuple(int(token) for token in choice["token_ids"])
    logprobs = tuple(float(value) for value in choice["logprobs"]["token_logprobs"])
    return Draw(ids, logprobs, FinishReason(choice["finish_reason"]))


def _reason(data: bytes) -> str:
    """The sentence in an error's answer."""
    text = data.decode("utf-8", "replace")
    try:
        content = json.loads(text)
        error = content.get("error", content)
        text = error if isinstance(error, str) else str(error.get("message", error))
    except (ValueError, AttributeError):
        pass
    return " ".join(text.split())[:300] or "no reason given"
