"""Whether a model can be spoken to as training does: its architecture, tokenizer, chat template.

No code that comes with a model is ever run; weights are not read.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.chat import prompt_ids
from components.errors import PolicyError
from envs.base import Message


@dataclass(frozen=True)
class Speech:
    """What a model's configuration and tokenizer say."""

    architecture: str
    num_tokens: int
    """Of the tokenizer's vocabulary."""
    max_length: int | None
    """Tokens of prompt and answer together."""
    system_messages: bool
    """Whether the chat template takes a system message."""
    thinking: bool
    """Whether the template has a switch `enable_thinking`; training turns it off."""


def check_speech(folder: Path, source: str) -> Speech:
    """Raise PolicyError that names the source if the model is of an unknown architecture, or its
    tokenizer cannot render a conversation."""
    config = _config(folder, source)
    tokenizer = _tokenizer(folder, source)
    if tokenizer.eos_token_id is None:
        raise PolicyError(f"{source}: the tokenizer has no end token (eos_token)")
    word = _word(tokenizer)
    asked, told = Message(role="user", content=word), Message(role="system", content=word)
    rendered = _render(tokenizer, [asked])
    if isinstance(rendered, Exception):
        reason = " ".join(str(rendered).split())[:200]
        raise PolicyError(f"{source}: its chat template cannot render a message: {reason}")
    return Speech(
        architecture=type(config).__name__.removesuffix("Config"),
        num_tokens=len(tokenizer),
        max_length=getattr(config, "max_position_embeddings", None),
        system_messages=not isinstance(_render(tokenizer, [told, asked]), Exception),
        thinking="enable_thinking" in str(tokenizer.chat_template),
    )


def _config(folder: Path, source: str) -> Any:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig

    try:
        config = AutoConfig.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # unknown model types raise whatever they like
        reason = " ".join(str(error).split())[:200]
        raise PolicyError(
            f"{source}: config.json is of no architecture that transformers knows (code that comes "
            f"with a model is not run): {reason}"
        ) from error
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise PolicyError(
            f"{source}: {type(config).__name__} is no language model that answers text with text"
        )
    return config


def _tokenizer(folder: Path, source: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # as above
        reason = " ".join(str(error).split())[:200]
        raise PolicyError(f"{source}: its tokenizer cannot be loaded: {reason}") from error


def _word(tokenizer: Any) -> str:
    """A text that the tokenizer knows: one that has words only refuses all others."""
    ids = sorted(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids))
    return str(tokenizer.decode(ids[:1])).strip()


def _render(tokenizer: Any, messages: list[Message]) -> list[int] | Exception:
    """Token ids, or why there are none."""
    try:
        return prompt_ids(tokenizer, messages)
    except Exception as error:  # templates raise what they like; so do word-level tokenizers
        return error
