"""Changing the weights of a running vLLM engine, and freeing one while others live on.

Everything that reaches into vLLM's internals is here; the parity tests keep watch over it.
"""

import contextlib
import gc
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def fits(old: str, new: str) -> bool:
    """Whether the engine with the key `old` can take the weights of `new` in place: the same
    architecture, no adapters. Keys: `<weights> <config.json> <adapter ranks>`."""
    return old.split(" ", 1)[1] == new.split(" ", 1)[1] and new.endswith("[]")


def swap_weights(model: Any, folder: Path) -> None:
    """Load the folder's weights into a `vllm.LLM` of the same architecture.

    vLLM packs linear layers for the CPU once; with tied embeddings the packed output layer would
    silently keep the old weights, so it is packed again. Cached prompts are forgotten.
    """
    model.collective_rpc("reload_weights", kwargs={"weights_path": str(folder)})
    model.apply_model(_pack_output_layer)
    model.reset_prefix_cache()


def _pack_output_layer(module: Any) -> None:
    from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
    from vllm.platforms import current_platform

    if current_platform.is_cpu() and getattr(module, "lm_head", None) is not None:
        dispatch_cpu_unquantized_gemm(module.lm_head, remove_weight=False)


def shut_down(models: Iterable[Any]) -> None:
    """Free the weights and caches of `vllm.LLM`s. vLLM's own shutdown would also destroy the
    process groups that the other engines of this process use, so it is not called."""
    for model in list(models):
        with contextlib.suppress(Exception):  # freeing what is broken: nothing depends on it
            client = model.llm_engine.engine_core
            client._finalizer.detach()
            client.engine_core.model_executor.shutdown()
            model.llm_engine.engine_core = None
    del models
    gc.collect()
