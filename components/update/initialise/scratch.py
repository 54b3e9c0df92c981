"""A small Qwen3-architecture model and its word-level tokenizer, made from a seed.

Written as plain safetensors and JSON with NumPy: the bytes depend on the seed and the settings
alone, not on the version of any model library. Nothing is trained here.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from components.settings import InitConfig

PAD, END = "<pad>", "<end>"
ROLES = ("<system>", "<user>", "<assistant>")
"""Role markers are ordinary words: a model that writes one shows it in its text."""
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<' + message.role + '> ' + message.content + ' ' }}"
    "{% if message.role == 'assistant' %}{{ '<end> ' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
INIT_STD = 0.02
"""Of embeddings and linear layers, as in Qwen3's configuration (`initializer_range`)."""

Array = npt.NDArray[np.float32]


def write_scratch_model(
    folder: Path, init: InitConfig, lexicon: Sequence[str], seed: int, dtype: str = "float32"
) -> None:
    """Write model, tokenizer and chat template into `folder`, ready for every engine.

    Args:
        lexicon: the words of the language, in a fixed order; ids follow it after the special words.
        seed: of the weights, in [0, 2^63).
    """
    from safetensors.numpy import save_file

    words = vocabulary(lexicon)
    folder.mkdir(parents=True, exist_ok=True)
    weights = dict(_weights(init, len(words), np.random.Generator(np.random.Philox(seed))))
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    _write_json(folder / "config.json", _model_config(init, len(words), dtype))
    _write_tokenizer(folder, words, init.max_position_embeddings)


def vocabulary(lexicon: Sequence[str]) -> list[str]:
    """Special words, then the lexicon; ValueError names a word that is doubled or has a space."""
    words = [PAD, END, *ROLES]
    for word in lexicon:
        if word.split() != [word]:
            raise ValueError(f"lexicon: {word!r} is not one whitespace-separated word")
        if word in words[: 2 + len(ROLES)]:
            raise ValueError(f"lexicon: {word!r} is a special word of the tokenizer")
    doubled = sorted({word for word in lexicon if lexicon.count(word) > 1})
    if doubled or not lexicon:
        raise ValueError(f"lexicon: expected distinct words, got {len(lexicon)}, twice: {doubled}")
    return words + list(lexicon)


def _weights(
    init: InitConfig, num_words: int, rng: np.random.Generator
) -> Iterator[tuple[str, Array]]:
    """Name and value of every tensor; linear layers are `[out_features, in_features]`."""

    def normal(rows: int, columns: int) -> Array:
        return rng.standard_normal((rows, columns), dtype=np.float32) * np.float32(INIT_STD)

    hidden, inner = init.hidden_size, init.intermediate_size
    query, key = init.num_heads * init.head_dim, init.num_kv_heads * init.head_dim
    yield "model.embed_tokens.weight", normal(num_words, hidden)
    for layer in range(init.num_layers):
        at = f"model.layers.{layer}."
        yield at + "self_attn.q_proj.weight", normal(query, hidden)
        yield at + "self_attn.k_proj.weight", normal(key, hidden)
        yield at + "self_attn.v_proj.weight", normal(key, hidden)
        yield at + "self_attn.o_proj.weight", normal(hidden, query)
        yield at + "mlp.gate_proj.weight", normal(inner, hidden)
        yield at + "mlp.up_proj.weight", normal(inner, hidden)
        yield at + "mlp.down_proj.weight", normal(hidden, inner)
        for norm in ("self_attn.q_norm", "self_attn.k_norm"):
            yield f"{at}{norm}.weight", np.ones(init.head_dim, np.float32)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{at}{norm}.weight", np.ones(hidden, np.float32)
    yield "model.norm.weight", np.ones(hidden, np.float32)


def _model_config(init: InitConfig, num_words: int, dtype: str) -> dict[str, Any]:
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": num_words,
        "hidden_size": init.hidden_size,
        "intermediate_size": init.intermediate_size,
        "num_hidden_layers": init.num_layers,
        "num_attention_heads": init.num_heads,
        "num_key_value_heads": init.num_kv_heads,
        "head_dim": init.head_dim,
        "max_position_embeddings": init.max_position_embeddings,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": True,
        "initializer_range": INIT_STD,
        "use_cache": True,
        "bos_token_id": None,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "dtype": dtype,
    }


def _write_tokenizer(folder: Path, words: Sequence[str], max_length: int) -> None:
    """One word, one token; a word outside the vocabulary is an error, never an unknown token."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in (PAD, END)])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": END,
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        "padding_side": "left",
    }
    _write_json(folder / "tokenizer_config.json", settings)
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")
