"""An adapter merged into its base: one folder of full weights that any library loads.

W' = W + (alpha / r) B A (Hu et al., "LoRA", 2021, section 4.1), computed in float32 and rounded
once, to the dtype of the base.
"""

import json
from pathlib import Path
from typing import Any

from components.errors import PolicyError
from components.update.folders import export_model, load_model


def merge_adapter(base: Path, adapter: Path, target: Path) -> None:
    """Write the base with the adapter merged into it, with the base's tokenizer and templates.

    PolicyError if the two do not fit, or if a merged weight is no finite number.
    """
    import torch

    dtype = _dtype(base)
    model: Any = load_model(adapter, base, "float32")
    try:
        merged = model.merge_and_unload(safe_merge=True)
    except ValueError as error:  # PEFT's check for numbers that are not finite
        raise PolicyError(f"adapter {adapter} cannot be merged into {base}: {error}") from error
    merged.to(getattr(torch, dtype))
    export_model(merged, merged.state_dict(), base, target)


def _dtype(base: Path) -> str:
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    return str(config.get("dtype") or config.get("torch_dtype") or "float32")
