"""DeepSpeed around one model: its start, exact gradient steps, optimiser state, weights.

Four rules make it run on the CPU without a compiler (each has a test): the shared-memory
communication op is switched off before the start; the optimiser is a client torch AdamW; stage 0
never meets bfloat16 (refused by the settings); the launcher's variables are set. Knows no loss.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from components.errors import PolicyError
from components.settings import UpdateConfig
from components.update.checkpointing import checkpoint_layers

_TAG = "optimizer"
_LAYOUT = "layout.json"
_LAUNCHER = {
    "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "0",
}  # fmt: skip


def disable_compiled_ops() -> None:
    """Rule 1: without this, DeepSpeed's start compiles a C++ op for minutes."""
    import deepspeed.ops

    if "deepspeed_shm_comm" not in deepspeed.ops.__compatible_ops__:
        raise RuntimeError("deepspeed.ops.__compatible_ops__ has no deepspeed_shm_comm")
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


@contextmanager
def launcher_variables() -> Iterator[None]:
    """Rule 4: a process that no launcher started is the only one."""
    added = {} if "WORLD_SIZE" in os.environ else _LAUNCHER
    if not torch.cuda.is_available() and "DS_ACCELERATOR" not in os.environ:
        added = {**added, "DS_ACCELERATOR": "cpu"}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


class TrainingEngine:
    """A model whose gradients are summed over any number of backward passes, then applied."""

    def __init__(self, model: Any, settings: UpdateConfig) -> None:
        """Wrap a loaded model; its parameters that require gradient are trained. The engine lives
        inside `launcher_variables`."""
        import deepspeed
        from deepspeed.utils import logger

        logger.setLevel("WARNING")
        disable_compiled_ops()
        parameters = [item for item in model.parameters() if item.requires_grad]
        optimizer = torch.optim.AdamW(
            parameters, lr=settings.learning_rate, betas=settings.betas,
            eps=settings.adam_eps, weight_decay=settings.weight_decay,
        )  # fmt: skip
        self._engine, *_ = deepspeed.initialize(
            model=model, optimizer=optimizer, config=_deepspeed_config(settings)
        )
        self._engine.module.eval()  # dropout would make pi_theta differ from pi_old
        if settings.gradient_checkpointing:
            checkpoint_layers(self._engine.module)
        self._stage = settings.zero_stage
        self._adapter = hasattr(model, "peft_config")

    @property
    def module(self) -> Any:
        """The model inside."""
        return self._engine.module

    @property
    def device(self) -> torch.device:
        """Where tensors must lie."""
        return torch.device(self._engine.device)

    @property
    def rank(self) -> int:
        """0 .. world_size - 1."""
        return int(self._engine.global_rank)

    @property
    def world_size(self) -> int:
        """Processes that train this model together."""
        return int(self._engine.world_size)

    @property
    def num_steps(self) -> int:
        """Optimiser steps ever taken, those before a resume included."""
        return int(self._engine.global_steps)

    def __call__(self, **inputs: Any) -> Any:
        """Forward; a collective under stage 3."""
        return self._engine(**inputs)

    def backward(self, loss: Tensor) -> None:
        """Add this rank's share of the loss: the gradient is the sum over all calls and ranks."""
        self._engine.backward(loss * self.world_size, scale_wrt_gas=False)

    def step(self, learning_rate: float) -> float | None:
        """Clip and apply. The gradient's norm before clipping; None where ranks cannot say."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = learning_rate
        norm = self._summed_norm() if self._stage == 0 else None
        self._engine.step()
        if self._stage > 0:
            norm = self._engine.get_global_grad_norm()
        return None if norm is None else float(norm)

    def sum_over_ranks(self, values: Tensor) -> Tensor:
        """Elementwise sum; the same tensor back if this process is alone."""
        if self.world_size > 1:
            torch.distributed.all_reduce(values)
        return values

    def save_optimizer(self, folder: Path) -> None:
        """Write the optimiser state, master weights included; every rank must call it."""
        with _without_frozen(self.module) if self._adapter else nullcontext():
            self._engine.save_checkpoint(
                str(folder), tag=_TAG, exclude_frozen_parameters=self._adapter
            )
        if self.rank == 0:
            for script in folder.glob("zero_to_*.py"):  # converters that nobody here runs
                script.unlink()
            (folder / _LAYOUT).write_text(json.dumps(self._layout(), sort_keys=True))

    def load_optimizer(self, folder: Path) -> None:
        """Go on from `save_optimizer`. PolicyError if ranks or ZeRO stage changed."""
        found = json.loads((folder / _LAYOUT).read_text())
        if found != self._layout():
            raise PolicyError(
                f"optimiser state {folder} was written with {found}, expected {self._layout()}; "
                "keep num_processes, zero_stage and dtype for the whole run"
            )
        self._engine.load_checkpoint(str(folder), tag=_TAG, load_module_strict=False)

    def weights(self) -> Mapping[str, Tensor]:
        """All weights on the CPU (adapters: the trained ones); complete on rank 0 alone."""
        if self._stage == 3:
            state = self._engine._zero3_consolidated_16bit_state_dict(
                exclude_frozen_parameters=self._adapter
            )
            return state or {}
        return {name: value.detach().cpu() for name, value in self.module.state_dict().items()}

    def close(self) -> None:
        """Free its hooks and buffers."""
        self._engine.destroy()

    def _layout(self) -> dict[str, Any]:
        dtype = str(next(self.module.parameters()).dtype)
        return {"world_size": self.world_size, "zero_stage": self._stage, "dtype": dtype}

    def _summed_norm(self) -> Tensor:
        """Of the gradient over all ranks, which the step sums later: copies, one at a time."""
        gradients = [p.grad for p in self.module.parameters() if p.grad is not None]
        if self.world_size == 1:
            return torch.nn.utils.get_total_norm(gradients)
        norms = [
            torch.linalg.vector_norm(self.sum_over_ranks(gradient.clone()) / self.world_size)
            for gradient in gradients
        ]
        total: Tensor = torch.linalg.vector_norm(torch.stack(norms))
        return total


@contextmanager
def _without_frozen(module: Any) -> Iterator[None]:
    """Frozen weights stay out of state dicts. DeepSpeed leaves them out under one name each, so
    an output layer tied to the embedding would be stored with every adapter."""
    parameters = module.named_parameters(remove_duplicate=False)
    frozen = {name for name, value in parameters if not value.requires_grad}

    def drop(_module: Any, state: dict[str, Any], _prefix: str, _metadata: Any) -> None:
        for name in frozen.intersection(state):
            del state[name]

    handle = module.register_state_dict_post_hook(drop)
    try:
        yield
    finally:
        handle.remove()


def _deepspeed_config(settings: UpdateConfig) -> dict[str, Any]:
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "managed_gradient_accumulation": False,
        "gradient_clipping": settings.max_grad_norm,
        "bf16": {"enabled": settings.dtype == "bfloat16"},
        "zero_optimization": {
            "stage": settings.zero_stage,
            "stage3_gather_16bit_weights_on_model_save": True,
        },
        "steps_per_print": 2**31,
    }
