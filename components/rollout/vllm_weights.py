"""Changing the weights of a running vLLM engine, multiplying by its adapters on CPUs, and freeing
one engine while others live on.

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
    model.apply_model(pack_output_layer)
    model.reset_prefix_cache()


def pack_output_layer(module: Any) -> None:
    """Pack the output layer again from its weights; on GPUs nothing is packed."""
    from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
    from vllm.platforms import current_platform

    if current_platform.is_cpu() and getattr(module, "lm_head", None) is not None:
        dispatch_cpu_unquantized_gemm(module.lm_head, remove_weight=False)


def multiply_by_adapter() -> None:
    """Replace vLLM's products of rows and adapters on CPUs, in this process.

    vLLM 0.32 copies an adapter's matrices for every token and multiplies row by row; one product
    per adapter is the same sum several times faster. Rows without an adapter (index -1) get
    nothing added, where vLLM gives them the last adapter's.
    """
    from vllm.lora.ops.torch_ops import lora_ops
    from vllm.lora.punica_wrapper import punica_cpu

    for module in (lora_ops, punica_cpu):
        for function in (bgmv_shrink, bgmv_expand, bgmv_expand_slice):
            if not hasattr(module, function.__name__):
                raise RuntimeError(f"{module.__name__} has no {function.__name__}")
            setattr(module, function.__name__, function)


def bgmv_shrink(rows: Any, matrices: Any, output: Any, indices: Any, scaling: float = 1.0) -> None:
    """`output = scaling x A x`; shapes as in `_product`."""
    product = _product(rows, matrices, indices, output.dtype)
    output[:, : product.shape[1]] = scaling * product


def bgmv_expand(
    rows: Any, matrices: Any, output: Any, indices: Any, add_inputs: bool = True
) -> None:
    """`output += B x`, over the columns that both have."""
    width = min(matrices.shape[-2], output.shape[1])
    bgmv_expand_slice(rows, matrices[..., :width, :], output, indices, 0, width, add_inputs)


def bgmv_expand_slice(
    rows: Any, matrices: Any, output: Any, indices: Any, offset: int, size: int,
    add_inputs: bool = True,
) -> None:  # fmt: skip
    """`output[:, offset : offset + size] += B x`."""
    product = _product(rows, matrices, indices, output.dtype)[: len(output)]
    target = output[:, offset : offset + size]
    if add_inputs:
        target += product
    else:
        target.copy_(product)


def _product(rows: Any, matrices: Any, indices: Any, dtype: Any) -> Any:
    """`[num_rows, outputs]`: each row times the matrix of its adapter.

    Args:
        rows: `[num_rows, inputs]`.
        matrices: `[num_adapters, outputs, inputs]`, or with a dimension of 1 after the first.
        indices: `[num_rows]` adapter of each row; -1: none.
    """
    rows = rows.to(dtype)
    matrices = matrices.squeeze(1) if matrices.dim() == 4 else matrices
    present = indices.unique().tolist()
    if len(present) == 1 and present[0] >= 0:
        return rows @ matrices[present[0]].to(dtype).T
    product = rows.new_zeros(len(rows), matrices.shape[1])
    for adapter in present:
        if adapter >= 0:
            mine = indices == adapter
            product[mine] = rows[mine] @ matrices[adapter].to(dtype).T
    return product


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
