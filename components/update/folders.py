"""Policy folders to models and back: full weights by transformers, adapters by PEFT on their base.

The same weights always give byte-equal folders; tokenizer and chat template are copied along.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from components.errors import PolicyError

_WEIGHTS = (".safetensors", ".bin", ".index.json")
_ADAPTER_CONFIG = "adapter_config.json"
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_SHARED: dict[tuple[str, str], Any] = {}
"""Loaded before a fork; each process takes one once, for PEFT changes the model that it wraps."""


def load_model(folder: str | Path, base: str | Path | None, dtype: str) -> Any:
    """The model of a policy folder, trainable; with a base, only the adapter is trainable.

    PolicyError names the folder that cannot be loaded.
    """
    source = str(base if base is not None else folder)
    try:
        model = _SHARED.pop((source, dtype), None) or _read_model(source, dtype)
        if base is not None:
            from peft import PeftModel

            model = PeftModel.from_pretrained(
                model, str(folder), is_trainable=True, autocast_adapter_dtype=False
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise PolicyError(f"policy folder {folder} (base {base}): cannot load: {reason}") from error
    return model


@contextmanager
def shared_bases(bases: Mapping[tuple[str, Any], int]) -> Iterator[None]:
    """Load each base (folder, dtype) that several jobs have, for processes that are forked inside:
    they share its memory, since nobody writes to frozen weights."""
    try:
        for key, num_jobs in bases.items():
            if num_jobs > 1:
                _SHARED[key] = _read_model(*key)
        yield
    finally:
        _SHARED.clear()


def _read_model(source: str, dtype: str) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    return AutoModelForCausalLM.from_pretrained(source, dtype=_DTYPES[dtype], local_files_only=True)


def weights_change(source: str | Path, target: str | Path) -> dict[str, float]:
    """How far a policy's weights moved: L2 norms over the tensors that both folders hold.

    `weights_changed` is the norm of the difference, in the dtype of `target` (a float32 start of
    a bfloat16 policy counts as rounded, not as changed); `weights_norm` is the norm of `target`.
    For an adapter both are the adapter's own, without its base.
    """
    old, changed, norm = _tensors(source), 0.0, 0.0
    for name, read in _tensors(target).items():
        if name in old:
            new = read()
            before = old[name]().to(new.dtype).float()
            changed += float(torch.linalg.vector_norm(new.float() - before)) ** 2
            norm += float(torch.linalg.vector_norm(new.float())) ** 2
    return {"weights_changed": changed**0.5, "weights_norm": norm**0.5}


def _tensors(folder: str | Path) -> dict[str, Callable[[], Tensor]]:
    """Name -> reads the tensor, over all safetensors of a folder."""
    from safetensors import safe_open

    found: dict[str, Callable[[], Tensor]] = {}
    for path in sorted(Path(folder).glob("*.safetensors")):
        stream: Any = safe_open(path, framework="pt")
        found |= {name: partial(stream.get_tensor, name) for name in stream.keys()}  # noqa: SIM118
    return found


def export_model(
    model: Any, state: Mapping[str, Tensor], source: str | Path, target: str | Path
) -> None:
    """Write `state` (weights on the CPU) as a policy folder like `source`."""
    source, target = Path(source), Path(target)
    target.mkdir(parents=True, exist_ok=True)
    adapter = (source / _ADAPTER_CONFIG).exists()
    model.save_pretrained(target, state_dict=dict(state))
    if adapter:  # PEFT writes a model card and paths of this machine; the source has neither
        (target / "README.md").unlink(missing_ok=True)
        shutil.copyfile(source / _ADAPTER_CONFIG, target / _ADAPTER_CONFIG)
    for item in sorted(source.rglob("*")):
        copy = target / item.relative_to(source)
        if item.is_file() and not copy.exists() and not item.name.endswith(_WEIGHTS):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(item, copy)
