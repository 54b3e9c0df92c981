"""Messages to prompt tokens and tokens to text, with each policy's own tokenizer.

A tokenizer is read from the policy's weight folder; nothing here samples.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from components.chat import prompt_ids
from components.engine import Request, Sampling
from components.errors import PolicyError, RolewiseError
from components.rollout.deployments import Deployment, read_json

Tokenizer = Any
"""A transformers tokenizer with a chat template."""


def load_tokenizer(deployment: Deployment) -> Tokenizer:
    """The deployment's tokenizer. PolicyError if it is missing, has no chat template or no end
    token, or has ids that the model has no embedding for."""
    from transformers import AutoTokenizer

    ref = next(iter(deployment.refs.values()))
    config = read_json(deployment.folder / "config.json", ref)
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(deployment.folder), local_files_only=True)
    except Exception as error:  # whatever the library raises, the folder is what is wrong
        reason = " ".join(str(error).split())[:200]
        raise PolicyError(
            f"policy {ref.tag}: no tokenizer can be loaded from {ref.uri}: {reason}"
        ) from error
    if tokenizer.chat_template is None:
        raise PolicyError(
            f"policy {ref.tag}: tokenizer has no chat template; "
            f"expected chat_template.jinja in {ref.uri}"
        )
    if tokenizer.eos_token_id is None:
        raise PolicyError(f"policy {ref.tag}: tokenizer has no eos_token, expected one")
    size, limit = max(tokenizer.get_vocab().values()) + 1, config.get("vocab_size", 0)
    if size > limit:
        raise PolicyError(
            f"policy {ref.tag}: tokenizer has {size} tokens, expected at most the model's {limit}: "
            "it belongs to another model"
        )
    return tokenizer


def stop_ids(folder: Path, tokenizer: Tokenizer) -> frozenset[int]:
    """Tokens that end an answer: the tokenizer's end token and those of generation_config.json."""
    import json

    path = folder / "generation_config.json"
    listed = json.loads(path.read_text()).get("eos_token_id") if path.exists() else None
    more: Iterable[int] = listed if isinstance(listed, list) else [] if listed is None else [listed]
    return frozenset({tokenizer.eos_token_id, *more})


def prompt_limit(sampling: Sampling, max_length: int) -> int:
    """The longest prompt that may be answered by a model of `max_length` tokens.

    Raises RolewiseError if not even one prompt token is left beside `max_new_tokens`.
    """
    left = max_length - sampling.max_new_tokens
    if left < 1:
        raise RolewiseError(
            f"max_new_tokens is {sampling.max_new_tokens}, expected less than the engine's "
            f"{max_length} tokens (max_position_embeddings, or max_prompt_tokens + max_new_tokens)"
        )
    return min(sampling.max_prompt_tokens, left)


def encode(tokenizer: Tokenizer, requests: Sequence[Request], limit: int) -> list[tuple[int, ...]]:
    """Prompt tokens of each request, generation prompt included; thinking is off where a template
    knows it. RolewiseError names the request, its policy, its length and the limit."""
    prompts = []
    for request in requests:
        ids = _encode(tokenizer, request)
        if not 0 < len(ids) <= limit:
            raise RolewiseError(
                f"request {request.request_id} (policy {request.policy}): prompt has {len(ids)} "
                f"tokens, expected 1 to {limit}; raise "
                "rollout.max_prompt_tokens or shorten the prompt"
            )
        prompts.append(ids)
    return prompts


def _encode(tokenizer: Tokenizer, request: Request) -> tuple[int, ...]:
    try:
        return tuple(prompt_ids(tokenizer, request.messages))
    except Exception as error:  # templates and tokenizers raise what they like
        words = _unknown_words(tokenizer, request)
        reason = (
            f"words outside its vocabulary: {words}"
            if words
            else " ".join(str(error).split())[:200]
        )
        raise RolewiseError(
            f"request {request.request_id} (policy {request.policy}): "
            f"tokenizer refuses the prompt: {reason}"
        ) from error


def _unknown_words(tokenizer: Tokenizer, request: Request) -> list[str]:
    """For word-level tokenizers, which have no unknown token: the words at fault."""
    if tokenizer.unk_token_id is not None:
        return []
    vocabulary = tokenizer.get_vocab()
    words = [word for message in request.messages for word in message["content"].split()]
    return sorted({word for word in words if word not in vocabulary})[:5]
