"""The adapter that a LoRA policy begins with: B = 0, so it answers exactly as its base does."""

from pathlib import Path
from typing import Any

from components.settings import LoraConfig


def write_fresh_adapter(folder: Path, base: Path, lora: LoraConfig, seed: int) -> None:
    """Write a PEFT adapter folder for the model in `base`; A is drawn from `seed`.

    The base is built without its weights, so any size fits; A is Kaiming-uniform as in PEFT
    (Hu et al., "LoRA", 2021, section 4.1), B is zero. float32.

    Raises ValueError if no module of the base has a name in `lora.target_modules`.
    """
    import torch
    from peft import LoraConfig as PeftConfig
    from peft import get_peft_model
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(str(base)))
        adapted = get_peft_model(
            model,
            PeftConfig(
                r=lora.r,
                lora_alpha=lora.alpha,
                target_modules=lora.target_modules,
                task_type="CAUSAL_LM",
            ),
        )
    generator = torch.Generator().manual_seed(seed)
    weights: dict[str, Any] = {}
    for name, parameter in sorted(adapted.named_parameters()):
        if "lora_" not in name:
            continue
        value = torch.zeros(parameter.shape)
        if "lora_A" in name:
            torch.nn.init.kaiming_uniform_(value, a=5**0.5, generator=generator)
        weights[name.replace(".default", "")] = value
    _save(folder, weights, adapted.peft_config["default"])


def _save(folder: Path, weights: dict[str, Any], config: Any) -> None:
    """As PEFT's own save_pretrained lays it out, without a path of this machine in it."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(config.target_modules, set):  # written in an order that differs by process
        config.target_modules = sorted(config.target_modules)
    config.base_model_name_or_path = None
    config.inference_mode = True
    config.save_pretrained(str(folder))
    save_file(weights, str(folder / "adapter_model.safetensors"), metadata={"format": "pt"})
