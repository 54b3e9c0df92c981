"""Where a policy begins: from the base named in the configuration to a checked local folder.

A folder holds safetensors, config.json, tokenizer.json and a chat template. Uploading and naming
it is `main.py`; nothing is trained here.
"""

import json
import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from components.errors import ConfigError, PolicyError, StorageError
from components.settings import PolicyConfig, StorageConfig
from components.storage import open_store
from components.update.initialise.hub import fetch
from components.update.initialise.packages import package_folder
from components.update.initialise.runs import fetch_policy
from components.update.initialise.scratch import write_scratch_model
from components.update.initialise.stored import stored_folder


def materialise(
    name: str,
    policy: PolicyConfig,
    *,
    lexicon: Callable[[], Sequence[str]],
    seed: int,
    storage: StorageConfig,
    cache: Path,
) -> Path:
    """The local folder of the policy's base, below `cache` or where it already lies.

    Args:
        name: of the policy, for messages.
        lexicon: gives the words of the environment's language; asked only by `init://`.
        seed: of weights made from scratch.
        storage: endpoint and credentials of `s3://` bases.

    Raises:
        PolicyError: the base is missing or incomplete, or its tokenizer does not fit.
    """
    scheme, _, rest = policy.base.partition("://")
    scratch = cache / "bases" / f"{scheme}-{uuid.uuid4().hex}"
    try:
        if policy.init is not None:
            write_scratch_model(scratch, policy.init, lexicon(), seed)
            folder = scratch
        elif scheme == "pkg":
            folder = package_folder(rest, cache)
        elif scheme == "file":
            folder = stored_folder(policy.base, storage, cache) or Path(rest)
        elif scheme == "run":
            folder = fetch_policy(rest, storage, cache)
        elif scheme == "s3":
            stored = stored_folder(policy.base, storage, cache)
            folder = stored or _from_store(policy.base, scratch, storage)
        else:
            folder = fetch(rest, cache).folder
    except (OSError, ValueError, StorageError, ConfigError) as error:
        reason = " ".join(str(error).split())[:300]
        raise PolicyError(
            f"policy {name}: base {policy.base} cannot be made or fetched: {reason}"
        ) from error
    check_base(name, policy.base, folder)
    return folder


def check_base(name: str, uri: str, folder: Path) -> None:
    """Raise PolicyError if the folder is not a complete model whose tokenizer fits it."""
    found = sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []
    if not any(file.endswith(".safetensors") for file in found):
        raise PolicyError(
            f"policy {name}: base {uri} has no safetensors, got {found or 'no folder'}"
        )
    for file in ("config.json", "tokenizer.json"):
        if file not in found:
            raise PolicyError(f"policy {name}: base {uri} has no {file}, got {found}")
    try:
        settings = _json(folder / "tokenizer_config.json")
        limit = _json(folder / "config.json").get("vocab_size", 0)
        size = _tokenizer_size(folder / "tokenizer.json")
        for file in found:
            if file.endswith(".safetensors"):
                _check_weights(folder / file)
    except _Damaged as error:
        raise PolicyError(f"policy {name}: base {uri} has a damaged {error}") from error
    if "chat_template.jinja" not in found and not settings.get("chat_template"):
        raise PolicyError(
            f"policy {name}: tokenizer of base {uri} has no chat template, expected "
            "chat_template.jinja or `chat_template` in tokenizer_config.json (an instruct model)"
        )
    if size > limit:
        raise PolicyError(
            f"policy {name}: tokenizer of base {uri} has {size} tokens, expected at most the "
            f"model's {limit} (config.json, vocab_size): it belongs to another model"
        )


def check_language(name: str, uri: str, folder: Path, prompts: Sequence[str]) -> None:
    """Raise PolicyError if the tokenizer refuses a prompt: it knows words only, and not these."""
    tokenizer = _tokenizer(folder / "tokenizer.json")
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    for prompt in prompts:
        try:
            tokenizer.encode(prompt)
        except Exception as error:  # the library raises nothing narrower
            unknown = sorted({word for word in prompt.split() if word not in vocabulary})[:5]
            raise PolicyError(
                f"policy {name}: tokenizer of base {uri} refuses the environment's prompts: "
                f"words outside its vocabulary: {unknown}"
            ) from error


class _Damaged(Exception):
    """File and reason."""


def _tokenizer_size(path: Path) -> int:
    """One more than the largest token id."""
    return int(max(_tokenizer(path).get_vocab(with_added_tokens=True).values())) + 1


def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise _Damaged(f"{path.name}: {' '.join(str(error).split())}") from error


def _json(path: Path) -> dict[str, Any]:
    """The object in a file; empty if there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise _Damaged(f"{path.name}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise _Damaged(f"{path.name}: expected an object, got {type(value).__name__}")
    return value


def _check_weights(path: Path) -> None:
    """The header is whole and the file as long as it says; the numbers are not read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise _Damaged(f"{path.name}: {' '.join(str(error).split())}") from error


def _from_store(uri: str, scratch: Path, storage: StorageConfig) -> Path:
    """Every object below an `s3://bucket/prefix`."""
    store = open_store(storage.model_copy(update={"uri": uri}))
    partial = scratch.with_name(scratch.name + ".partial")
    for key in store.list(""):
        store.download_file(key, partial / key)
    if not partial.exists():
        raise StorageError(f"{uri}: holds no objects, expected a model folder")
    os.replace(partial, scratch)
    return scratch


def discard(folder: Path, cache: Path) -> None:
    """Delete a folder that `materialise` made for one run; bases that are shared stay."""
    if folder.parent == cache / "bases" and folder.name.startswith(("init-", "s3-")):
        shutil.rmtree(folder, ignore_errors=True)
