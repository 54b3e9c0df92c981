"""vLLM's options and environment, the same in a step's own process and in a warm server.

Knows nothing of teams: a folder, a length, the ranks of adapters.
"""

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.settings import RolloutConfig

MAX_SEQUENCES = 256
"""Sequences decoded side by side."""
ADAPTER_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM reserves memory for; an adapter takes the next one up."""
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "CRITICAL",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "HF_HUB_OFFLINE": "1",
}
"""In process, silent, no usage reports, threads not pinned (steps share cores)."""


def reserved_rank(rank: int) -> int:
    """What vLLM reserves for an adapter of this rank."""
    return next((reserved for reserved in ADAPTER_RANKS if reserved >= rank), rank)


def engine_options(
    folder: Path,
    max_length: int,
    settings: RolloutConfig,
    ranks: Sequence[int],
    num_models: int,
) -> dict[str, Any]:
    """Of one vLLM engine; `ranks` of the adapters that it holds side by side. Inside
    `vllm_environment`: the platform decides too."""
    from vllm.platforms import current_platform

    options: dict[str, Any] = {
        "model": str(folder),
        "generation_config": "vllm",
        "dtype": settings.dtype,
        "seed": 0,
        "max_model_len": max_length,
        "max_num_seqs": MAX_SEQUENCES,
        "enable_prefix_caching": True,
        "logprobs_mode": "processed_logprobs",
        "disable_log_stats": True,
        "tensor_parallel_size": settings.tensor_parallel,
    }
    if ranks:
        reserved = max(reserved_rank(rank) for rank in ranks)
        options |= {"enable_lora": True, "max_loras": len(ranks), "max_lora_rank": reserved}
    if current_platform.is_cpu():
        return options | _cpu_options(max_length, settings)
    options["gpu_memory_utilization"] = settings.gpu_memory_utilization / num_models
    options["quantization"] = settings.quantization
    return options


def _cpu_options(max_length: int, settings: RolloutConfig) -> dict[str, Any]:
    """Small pages, so that short prompts hit the prefix cache; no chunked prefill, which does not
    go with seeds per request on CPUs."""
    return {
        "enforce_eager": True,
        "kv_cache_memory_bytes": settings.kv_cache_mib << 20,
        "block_size": 32,
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(max_length, 4096),
    }


@contextlib.contextmanager
def vllm_environment(more: Mapping[str, str] = {}) -> Iterator[None]:
    """vLLM's settings while it is imported, opened or used. It rewrites the environment; child
    processes must not inherit that, so everything is put back afterwards."""
    before = dict(os.environ)
    os.environ.update({**ENVIRONMENT, **more})
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def without_compiler() -> Iterator[None]:
    """On CPUs: torch compiles nothing. It would need a C++ compiler, and many seconds."""
    import torch._dynamo
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        yield
        return
    os.environ["TORCH_COMPILE_DISABLE"] = "1"
    with torch._dynamo.config.patch(disable=True):
        yield
