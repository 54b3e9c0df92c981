"""Tiny models and adapters in a real file store, for tests and the engine benchmark."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from components.engine import Request
from components.policies import PolicyRef, Team
from components.settings import InitConfig, LoraConfig, StorageConfig
from components.storage import Store, open_store
from components.update.initialise.adapters import write_fresh_adapter
from components.update.initialise.scratch import write_scratch_model

CELLS = tuple(f"{column}{row}" for column in "abcdef" for row in range(1, 7))
LEXICON = ("walls", "goal", "at", "route", *CELLS)
INIT = InitConfig(num_layers=2, max_position_embeddings=256)


def make_store(folder: Path) -> Store:
    return open_store(StorageConfig(uri=f"file://{folder}"))


def make_policy(store: Store, folder: Path, name: str, seed: int, scale: float = 1.0) -> PolicyRef:
    """A full-weight policy. `scale` > 1 makes its distributions less flat."""
    from safetensors.numpy import load_file, save_file

    target = folder / name
    write_scratch_model(target, INIT, LEXICON, seed)
    file = str(target / "model.safetensors")
    weights = {key: value * scale for key, value in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    ref = store.upload_folder(target)
    return PolicyRef(name, 0, ref.uri, ref.sha256, ref.bytes)


def make_adapter(store: Store, folder: Path, name: str, base: PolicyRef, seed: int) -> PolicyRef:
    """An adapter whose B is not zero, so that it answers otherwise than its base."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    target = folder / name
    base_folder = store.download_folder(base.folder, folder / "cache")
    write_fresh_adapter(target, base_folder, LoraConfig(r=4, alpha=8), seed)
    file = str(target / "adapter_model.safetensors")
    rng = np.random.default_rng(seed)
    weights = {
        key: rng.normal(0, 0.3, value.shape).astype(value.dtype) if "lora_B" in key else value
        for key, value in load_file(file).items()
    }
    save_file(weights, file, metadata={"format": "pt"})
    ref = store.upload_folder(target)
    return PolicyRef(name, 1, ref.uri, ref.sha256, ref.bytes, base)


def make_team(policies: Mapping[str, PolicyRef]) -> Team:
    """Each policy plays a role of its own name."""
    return Team(policies=dict(policies), roles={name: name for name in policies})


def make_requests(policies: Sequence[str], num: int, n: int, words: int = 20) -> list[Request]:
    """`num` requests per policy with prompts of differing lengths."""
    requests = []
    for policy in policies:
        for index in range(num):
            chosen = [CELLS[(index * 7 + k * 5) % len(CELLS)] for k in range(words + index % 5)]
            content = f"walls {' '.join(chosen)} goal {CELLS[index % len(CELLS)]}"
            seeds = tuple(hash_seed(policy, index, candidate) for candidate in range(n))
            message = {"role": "user", "content": content}
            requests.append(Request(f"{policy}-{index}", policy, (message,), seeds))  # type: ignore[arg-type]
    return requests


def hash_seed(policy: str, index: int, candidate: int) -> int:
    from components.seeds import derive_seed

    return derive_seed("test", policy, index, candidate)
