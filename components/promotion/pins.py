"""What decides how a team plays beside its weights, as digests for the manifest.

Weights are not loaded: the stored folders' own lists name every file with its digest.
"""

import hashlib
import json
from collections.abc import Mapping

from components.config import ExperimentConfig
from components.members import open_members
from components.policies import FolderRef, PolicyRef
from components.state import TrainingState
from components.storage import Store
from components.storage.folders import MANIFEST, Entry, decode, key_of
from components.tracking.description import digest
from components.tracking.manifest import PolicyPin
from envs.base import Environment, Split, State

TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt",
)  # fmt: skip
TEMPLATE = "chat_template.jinja"
NUM_STATES = 4
"""Held-out tasks in whose first states the prompts are pinned."""


def policy_pins(store: Store, state: TrainingState) -> dict[str, PolicyPin]:
    """Policy -> its pin. StorageError if a folder of it is gone."""
    return {name: _pin(store, ref, state.initial[name]) for name, ref in state.policies.items()}


def env_pins(config: ExperimentConfig) -> dict[str, dict[str, str]]:
    """Environment -> `name`, `version`, `options_digest`, `reward`, `prompts`."""
    opened = zip(config.environments.items(), open_members(config), strict=True)
    return {
        key: {
            "name": settings.name or key,
            "version": member.env.version,
            "options_digest": digest(settings.options),
            "reward": settings.reward,
            "prompts": prompts_digest(member.env),
        }
        for (key, settings), member in opened
    }


def prompts_digest(env: Environment) -> str:
    """sha256 over what every role reads in the first states of the first held-out tasks."""
    states = [env.reset(task) for task in env.tasks(Split.VALIDATION, 0, 0, NUM_STATES)]
    return digest([[_prompt(env, state, role) for role in env.roles] for state in states])


def folder_files(store: Store, ref: FolderRef) -> dict[str, Entry]:
    """Path -> entry of a stored folder, from its verified list."""
    data = store.read(f"{key_of(store.uri, ref)}/{MANIFEST}")
    return {entry.path: entry for entry in decode(data, ref)}


def _pin(store: Store, ref: PolicyRef, initial: PolicyRef) -> PolicyPin:
    home = (ref.base or ref).folder
    files = folder_files(store, home)
    tokenizer = {name: files[name].sha256 for name in TOKENIZER_FILES if name in files}
    base = initial.base or initial
    return PolicyPin(base.sha256, digest(tokenizer), _template(store, home, files))


def _template(store: Store, home: FolderRef, files: Mapping[str, Entry]) -> str:
    """Of the template's file, else of its text in tokenizer_config.json."""
    if TEMPLATE in files:
        return files[TEMPLATE].sha256
    if "tokenizer_config.json" not in files:
        return ""
    settings = json.loads(store.read(f"{key_of(store.uri, home)}/tokenizer_config.json"))
    text = json.dumps(settings.get("chat_template", ""), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _prompt(env: Environment, state: State, role: str) -> list[dict[str, str]] | None:
    """None where a role has nothing to read before the others acted: also part of the pin."""
    try:
        return [dict(message) for message in env.observe(state, role)]  # type: ignore[arg-type]
    except Exception:  # of somebody else's environment; who plays it calls it in turn only
        return None
