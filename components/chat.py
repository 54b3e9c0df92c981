"""From chat messages to token ids, the same for play and for training.

Takes a tokenizer object and imports no model library.
"""

from collections.abc import Sequence
from typing import Any

from components.errors import PolicyError
from envs.base import Message


def prompt_ids(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Token ids `[num_prompt_tokens]` of the messages, ready for the assistant's answer.

    Reasoning is switched off where the template knows `enable_thinking` (Qwen3), as in the paper.
    PolicyError if the tokenizer has no chat template.
    """
    if not messages:
        raise ValueError("prompt_ids: no messages given")
    if not getattr(tokenizer, "chat_template", None):
        raise PolicyError(
            f"tokenizer of {getattr(tokenizer, 'name_or_path', '?')} has no chat template; "
            "add chat_template.jinja to the policy's folder"
        )
    ids = tokenizer.apply_chat_template(
        [dict(message) for message in messages],
        tokenize=True,
        add_generation_prompt=True,
        enable_thinking=False,
        return_dict=False,
    )
    return [int(token) for token in ids]


def answer_ids(tokenizer: Any, text: str) -> list[int]:
    """Token ids `[num_tokens]` of an answer with its end token: what an engine would have drawn."""
    if tokenizer.eos_token_id is None:
        raise PolicyError(
            f"tokenizer of {getattr(tokenizer, 'name_or_path', '?')} has no end token (eos_token)"
        )
    return [*tokenizer.encode(text, add_special_tokens=False), int(tokenizer.eos_token_id)]
