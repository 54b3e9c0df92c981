"""How much GPU memory a step needs, from shapes and settings alone.

Estimates for one GPU in bytes. Activations are what autograd keeps for one forward pass (a test
counts them on a real model); fragmentation and libraries are covered by a fixed share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.preflight.shapes import ModelShape
from components.settings import LoraConfig, RolloutConfig, UpdateConfig

GIB = 1 << 30
USABLE = 0.9
"""Share of a GPU that is ours: the rest is CUDA's context, workspaces and fragmentation."""
MAX_SEQUENCES = 256
"""That the rollout decodes side by side."""
BUCKET = 500_000_000
"""Elements that DeepSpeed reduces at once."""
GATHERED = 1_000_000_000
"""Parameters that ZeRO 3 keeps gathered, at most."""
ELEMENT_BYTES: Mapping[str, int] = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class Estimate:
    """Bytes by purpose, on the fullest GPU."""

    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.parts.values())

    def text(self) -> str:
        """`6.1 GiB (weights 3.2, KV cache 2.9)`."""
        parts = ", ".join(f"{name} {value / GIB:.1f}" for name, value in self.parts.items())
        return f"{self.total / GIB:.1f} GiB ({parts})"


def rollout_memory(
    shapes: Sequence[ModelShape], settings: RolloutConfig, num_gpus: int, num_sequences: int
) -> Estimate:
    """All distinct models of a team in one step, each with a cache for `num_sequences` sequences.

    A group's prompt is stored once for its candidates. Weights and cache are shared out over
    `num_gpus` GPUs.
    """
    element = ELEMENT_BYTES[settings.dtype]
    groups = max(1, num_sequences // settings.num_candidates)
    tokens = groups * settings.max_prompt_tokens + num_sequences * settings.max_new_tokens
    weights = sum(shape.num_parameters for shape in shapes) * element
    cache = sum(shape.kv_bytes_per_token(element) for shape in shapes) * tokens
    return Estimate({"weights": weights / num_gpus, "KV cache": cache / num_gpus})


def update_memory(
    shape: ModelShape,
    lora: LoraConfig | None,
    settings: UpdateConfig,
    rollout: RolloutConfig,
    num_gpus: int,
) -> Estimate:
    """One policy's update: weights, gradients, Adam with fp32 master weights, activations.

    ZeRO (Rajbhandari et al., 2020) shares out optimiser state from stage 1, gradients from stage
    2 and weights from stage 3.
    """
    element = ELEMENT_BYTES[settings.dtype]
    trained = shape.adapter_parameters(lora) if lora else shape.num_parameters
    frozen = shape.num_parameters if lora else 0
    stage, positions = settings.zero_stage, microbatch_positions(settings, rollout)
    share = [1 / num_gpus if stage >= least else 1.0 for least in (1, 2, 3)]
    states = 8 + (4 if stage > 0 or element == 2 else 0)
    return Estimate(
        {
            "weights": (trained + frozen) * element * share[2],
            "gradients": trained * element * share[1],
            "optimiser": trained * states * share[0],
            "buffers": _buffer_elements(trained, frozen, stage) * element,
            "activations": positions * _activation_bytes(shape, settings),
            "logits": positions * shape.vocab_size * (12 + 2 * element),
        }
    )


def microbatch_positions(settings: UpdateConfig, rollout: RolloutConfig) -> int:
    """Of the largest micro-batch: a row longer than the budget is a batch alone. Where prompts are
    short nearly all of them are answers', so each counts with its logits."""
    longest = rollout.max_prompt_tokens + rollout.max_new_tokens
    return max(settings.tokens_per_microbatch, longest)


def _buffer_elements(trained: int, frozen: int, stage: int) -> int:
    """DeepSpeed's: one bucket of gradients from stage 1, and what stage 3 holds gathered."""
    bucket = min(trained, BUCKET) if stage >= 1 else 0
    return bucket + (min(trained + frozen, GATHERED) if stage == 3 else 0)


def _activation_bytes(shape: ModelShape, settings: UpdateConfig) -> float:
    """Per token, of all layers; with checkpointing their inputs, and one layer in full."""
    element = ELEMENT_BYTES[settings.dtype]
    layer = layer_activation_bytes(shape, element)
    if settings.gradient_checkpointing:
        return shape.num_layers * shape.hidden_size * element + layer
    return shape.num_layers * layer


def layer_activation_bytes(shape: ModelShape, element: int) -> float:
    """Kept per token and layer: linear inputs, rotated queries and keys, the gated MLP's products,
    and the norms' inputs in fp32."""
    hidden, inner = shape.hidden_size, shape.intermediate_size
    queries, keys = shape.num_heads * shape.head_dim, shape.num_kv_heads * shape.head_dim
    linear = element * (4 * hidden + 4 * inner + 3 * queries + 3 * keys)
    return linear + 4 * (2 * hidden + queries + keys)
