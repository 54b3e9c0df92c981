"""The shape of a model: its parameters and bytes, from config.json or from a short table.

Decoder-only models with grouped-query attention and a gated MLP (Llama, Qwen2, Qwen3, SmolLM2).
Nothing is loaded or fetched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.settings import InitConfig, LoraConfig


@dataclass(frozen=True)
class ModelShape:
    """What memory depends on."""

    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    tied: bool
    """Whether the output layer is the embedding."""

    @property
    def num_parameters(self) -> int:
        """Weights, biases left out."""
        embeddings = self.vocab_size * self.hidden_size * (1 if self.tied else 2)
        return embeddings + self.num_layers * (self._matrices() + 2 * self.hidden_size)

    def adapter_parameters(self, lora: LoraConfig) -> int:
        """A and B of rank r for every linear layer: r * (inputs + outputs)."""
        pairs = sum(rows + columns for rows, columns in self._linear_layers())
        return lora.r * self.num_layers * pairs

    def kv_bytes_per_token(self, element_bytes: int) -> int:
        """Keys and values of all layers."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim * element_bytes

    def _linear_layers(self) -> tuple[tuple[int, int], ...]:
        hidden, queries = self.hidden_size, self.num_heads * self.head_dim
        keys, inner = self.num_kv_heads * self.head_dim, self.intermediate_size
        return (
            (hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden),
            (hidden, inner), (hidden, inner), (inner, hidden),
        )  # fmt: skip

    def _matrices(self) -> int:
        return sum(rows * columns for rows, columns in self._linear_layers())


KNOWN: Mapping[str, ModelShape] = {
    "Qwen/Qwen3-0.6B": ModelShape(1024, 3072, 28, 16, 8, 128, 151_936, True),
    "Qwen/Qwen3-1.7B": ModelShape(2048, 6144, 28, 16, 8, 128, 151_936, True),
    "Qwen/Qwen3-4B": ModelShape(2560, 9728, 36, 32, 8, 128, 151_936, True),
    "Qwen/Qwen3-8B": ModelShape(4096, 12_288, 36, 32, 8, 128, 151_936, False),
    "Qwen/Qwen2.5-Coder-3B-Instruct": ModelShape(2048, 11_008, 36, 16, 2, 128, 151_936, True),
    "Qwen/Qwen2.5-7B-Instruct": ModelShape(3584, 18_944, 28, 28, 4, 128, 152_064, False),
    "microsoft/Phi-3-mini-4k-instruct": ModelShape(3072, 8192, 32, 32, 32, 96, 32_064, False),
}
"""As their published config.json says; used where a hub model cannot be looked at."""


def from_config(config: Mapping[str, Any]) -> ModelShape:
    """The shape in a config.json. ValueError names a missing field."""
    try:
        heads = int(config["num_attention_heads"])
        return ModelShape(
            hidden_size=int(config["hidden_size"]),
            intermediate_size=int(config["intermediate_size"]),
            num_layers=int(config["num_hidden_layers"]),
            num_heads=heads,
            num_kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or int(config["hidden_size"]) // heads),
            vocab_size=int(config["vocab_size"]),
            tied=bool(config.get("tie_word_embeddings", False)),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"config.json has no usable {error}; expected a decoder-only model's"
        ) from error


def from_init(init: InitConfig, vocab_size: int) -> ModelShape:
    """The shape of a model made from scratch."""
    return ModelShape(
        init.hidden_size, init.intermediate_size, init.num_layers, init.num_heads,
        init.num_kv_heads, init.head_dim, vocab_size, True,
    )  # fmt: skip
