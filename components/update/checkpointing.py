"""Activation checkpointing: keep each layer's input alone and compute the rest again.

Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from typing import Any

from components.errors import PolicyError


def checkpoint_layers(model: Any) -> None:
    """Switch it on, in evaluation mode: the layers' own switch counts, so no dropout comes back.

    PolicyError if the architecture has no such layers.
    """
    from transformers.modeling_layers import GradientCheckpointingLayer

    layers = [item for item in model.modules() if isinstance(item, GradientCheckpointingLayer)]
    if not layers:
        raise PolicyError(
            f"{type(model).__name__} has no layers that can be computed again; "
            "set update.gradient_checkpointing: false"
        )
    model.gradient_checkpointing_enable({"use_reentrant": False})
    for layer in layers:
        layer.training = True  # not `layer.train()`: what is inside stays as in evaluation
