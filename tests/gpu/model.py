"""Random models of Qwen3's architecture with a tokenizer, written to a folder: no network."""

from dataclasses import dataclass, replace
from pathlib import Path

TEMPLATE = (
    "{% for message in messages %}{{ message.content }} {% endfor %}"
    "{% if add_generation_prompt %}<answer>{% endif %}"
)
SPECIAL = ("<pad>", "<end>", "<answer>")


@dataclass(frozen=True)
class Shape:
    """Sizes of a model; the defaults are Qwen3-1.7B's."""

    vocab_size: int = 151936
    hidden_size: int = 2048
    intermediate_size: int = 6144
    num_layers: int = 28
    num_heads: int = 16
    num_kv_heads: int = 8
    head_dim: int = 128

    @property
    def num_parameters(self) -> int:
        """Input and output embedding are one."""
        heads = (2 * self.num_heads + 2 * self.num_kv_heads) * self.head_dim
        layer = self.hidden_size * (heads + 3 * self.intermediate_size)
        norms = self.num_layers * (2 * self.hidden_size + 2 * self.head_dim) + self.hidden_size
        return self.vocab_size * self.hidden_size + self.num_layers * layer + norms

    def cut(self) -> "Shape":
        """The same widths with two layers and a small vocabulary: what a CPU trains in seconds."""
        return replace(self, num_layers=2, vocab_size=min(self.vocab_size, 2048))


QWEN3_1P7B = Shape()
TINY = Shape(256, 64, 128, 4, 4, 2, 16)


def write_model(folder: Path, shape: Shape, dtype: str, device: str, seed: int = 0) -> Path:
    """Random weights, drawn on the device."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=shape.vocab_size, hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size, num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads, num_key_value_heads=shape.num_kv_heads,
        head_dim=shape.head_dim, max_position_embeddings=4096, tie_word_embeddings=True,
        pad_token_id=0, eos_token_id=1, dtype=getattr(torch, dtype),
    )  # fmt: skip
    with torch.device(device):
        model = Qwen3ForCausalLM(config).to(getattr(torch, dtype))
    found = sum(value.numel() for value in model.parameters())
    assert found == shape.num_parameters, (found, shape.num_parameters)
    model.save_pretrained(folder)
    _write_tokenizer(folder, shape.vocab_size)
    return folder


def _write_tokenizer(folder: Path, vocab_size: int) -> None:
    """A word for every id, so that whatever a random model draws is text."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [*SPECIAL, *(f"w{at}" for at in range(len(SPECIAL), vocab_size))]
    raw = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, "<pad>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<end>", chat_template=TEMPLATE,
        model_max_length=4096,
    ).save_pretrained(folder)  # fmt: skip
