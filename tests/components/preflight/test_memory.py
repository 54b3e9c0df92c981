"""Estimates against published sizes and against what autograd really keeps."""

from typing import Any

import pytest
import torch

from components.preflight.memory import (
    BUCKET,
    ELEMENT_BYTES,
    GATHERED,
    GIB,
    layer_activation_bytes,
    rollout_memory,
    update_memory,
)
from components.preflight.shapes import KNOWN, ModelShape, from_config
from components.settings import LoraConfig, RolloutConfig, UpdateConfig

PUBLISHED_BILLIONS = {
    "Qwen/Qwen3-0.6B": 0.6, "Qwen/Qwen3-1.7B": 1.7, "Qwen/Qwen3-4B": 4.0, "Qwen/Qwen3-8B": 8.2,
    "Qwen/Qwen2.5-Coder-3B-Instruct": 3.09, "Qwen/Qwen2.5-7B-Instruct": 7.61,
    "microsoft/Phi-3-mini-4k-instruct": 3.8,
}  # fmt: skip
SHAPE = ModelShape(256, 512, 2, 8, 2, 64, 100, True)


@pytest.mark.parametrize("name", KNOWN)
def test_parameters_are_those_that_the_makers_state(name: str) -> None:
    assert KNOWN[name].num_parameters / 1e9 == pytest.approx(PUBLISHED_BILLIONS[name], rel=0.02)


def _model(shape: ModelShape, dtype: str) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        hidden_size=shape.hidden_size, intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_layers, num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_kv_heads, head_dim=shape.head_dim,
        vocab_size=shape.vocab_size, tie_word_embeddings=shape.tied,
    )  # fmt: skip
    return Qwen3ForCausalLM(config).to(getattr(torch, dtype)).eval()


def _kept_bytes(model: Any, num_tokens: int) -> int:
    """Of all tensors that autograd keeps for the backward pass, weights left out."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}
    alive: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.model(input_ids=torch.zeros(1, num_tokens, dtype=torch.long), use_cache=False)
    return sum(kept.values())


@pytest.mark.parametrize("dtype", ELEMENT_BYTES)
def test_activations_are_what_autograd_keeps(dtype: str) -> None:
    deeper = ModelShape(256, 512, 4, 8, 2, 64, 100, True)
    two, four = (_kept_bytes(_model(shape, dtype), 128) for shape in (SHAPE, deeper))
    measured = (four - two) / 2 / 128
    assert layer_activation_bytes(SHAPE, ELEMENT_BYTES[dtype]) == pytest.approx(measured, rel=0.03)


def test_parameters_and_adapters_are_those_of_a_real_model() -> None:
    from peft import LoraConfig as PeftConfig
    from peft import get_peft_model

    model = _model(SHAPE, "float32")
    assert from_config(model.config.to_dict()) == SHAPE
    norms = 2 * SHAPE.num_layers * SHAPE.head_dim + SHAPE.hidden_size  # of heads, and the last
    assert SHAPE.num_parameters + norms == sum(item.numel() for item in model.parameters())
    adapted = get_peft_model(model, PeftConfig(r=8, target_modules="all-linear"))
    trained = sum(item.numel() for item in adapted.parameters() if item.requires_grad)
    assert SHAPE.adapter_parameters(LoraConfig(r=8)) == trained


def test_zero_shares_out_more_with_every_stage() -> None:
    shape, rollout = KNOWN["Qwen/Qwen3-8B"], RolloutConfig()
    totals = [
        update_memory(shape, None, UpdateConfig(dtype="bfloat16", zero_stage=stage), rollout, 8)
        for stage in (1, 2, 3)
    ]
    fixed = sum(totals[2].parts[name] for name in ("buffers", "activations", "logits"))
    assert totals[2].total - fixed == pytest.approx(shape.num_parameters * 16 / 8)
    assert totals[0].total > totals[1].total > totals[2].total
    assert totals[2].parts["buffers"] == 2 * (BUCKET + GATHERED)


@pytest.mark.parametrize(("budget", "positions"), [(1000, 3000), (5000, 5000)])
def test_a_row_longer_than_the_budget_counts_whole(budget: int, positions: int) -> None:
    rollout = RolloutConfig(max_prompt_tokens=2000, max_new_tokens=1000)
    settings = UpdateConfig(tokens_per_microbatch=budget, gradient_checkpointing=True)
    parts = update_memory(SHAPE, None, settings, rollout, 1).parts
    kept = 2 * 256 * 4 + layer_activation_bytes(SHAPE, 4)
    assert parts["activations"] == positions * kept
    assert parts["logits"] == positions * 100 * 20


def test_a_lora_update_keeps_no_optimiser_state_of_the_base() -> None:
    shape, rollout = KNOWN["Qwen/Qwen3-1.7B"], RolloutConfig()
    full = update_memory(shape, None, UpdateConfig(), rollout, 1)
    lora = update_memory(shape, LoraConfig(), UpdateConfig(), rollout, 1)
    assert lora.parts["weights"] == pytest.approx(full.parts["weights"], rel=0.02)
    assert lora.parts["optimiser"] < 0.02 * full.parts["optimiser"]


def test_a_group_shares_the_cache_of_its_prompt() -> None:
    shape = KNOWN["Qwen/Qwen3-1.7B"]
    settings = RolloutConfig(num_candidates=4, max_prompt_tokens=4096, max_new_tokens=256)
    cache = rollout_memory([shape], settings, 1, 8).parts["KV cache"]
    assert cache == shape.kv_bytes_per_token(4) * (2 * 4096 + 8 * 256)
    halves = rollout_memory([shape, shape], settings, 2, 8)
    assert halves.parts["KV cache"] == cache
    assert halves.text().startswith(f"{halves.total / GIB:.1f} GiB (weights ")
