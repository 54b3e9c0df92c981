"""What a warm server's worker can do besides vLLM's own: load other weights in place.

vLLM mixes `Worker` into its worker class (`--worker-extension-cls`), so these are methods of every
rank and may be called by `collective_rpc`. Holds no state of its own.
"""

from typing import Any

from components.process import die_with_parent
from components.rollout.vllm_weights import multiply_by_adapter, pack_output_layer


class Worker:
    """Methods of a worker."""

    model_runner: Any
    """vLLM's."""

    def warm_prepare(self) -> None:
        """Once, before the first request: end with the server's process, also if that is killed;
        on CPUs, multiply by adapters in one product each."""
        from vllm.platforms import current_platform

        die_with_parent()
        if current_platform.is_cpu():
            multiply_by_adapter()

    def warm_load(self, folder: str) -> None:
        """Load a folder's weights in place, and pack an output layer again that vLLM packs once."""
        self.model_runner.reload_weights(weights_path=folder)
        pack_output_layer(self.model_runner.get_model())
