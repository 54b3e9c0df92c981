"""Policies, states and configurations without weights, for tests that need the references only."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig, parse_config
from components.policies import PolicyRef
from components.state import TrainingState
from components.storage import open_store

TRACER = "tests.doubles.environments:make_tracer"


def make_ref(name: str, version: int = 0) -> PolicyRef:
    """A reference whose digest depends on name and version; nothing lies there."""
    digest = hashlib.sha256(f"{name}@{version}".encode()).hexdigest()
    return PolicyRef(name, version, f"file:///nowhere/policies/{digest}", digest, 1)


def make_config(
    folder: str, roles: Mapping[str, str] | None = None, **sections: Any
) -> ExperimentConfig:
    """A tracer experiment that stores under `folder`; sections replace or add."""
    roles = roles or {"A": "a", "B": "b"}
    content: dict[str, Any] = {
        "name": "traced",
        "env": {"name": TRACER},
        "policies": {name: {"base": "file://nowhere"} for name in dict.fromkeys(roles.values())},
        "roles": dict(roles),
        "rollout": {"num_tasks": 2, "num_candidates": 4, "num_turns": 2},
        "evaluation": {"num_tasks": 3},
        "storage": {"uri": f"file://{folder}/store", "cache": f"{folder}/cache"},
        "tracking": {"uri": f"sqlite:///{folder}/mlflow.db"},
    }
    return parse_config(content | sections)


def make_state(config: ExperimentConfig, iteration: int = 0, next_task: int = 0) -> TrainingState:
    """The state after `iteration`, every policy at that version."""
    return TrainingState(
        run="r",
        iteration=iteration,
        config_digest=config.digest(),
        policies={name: make_ref(name, iteration) for name in config.policies},
        optimizers={},
        initial={name: make_ref(name) for name in config.policies},
        next_task=next_task,
    )


def stored_state(config: ExperimentConfig, iteration: int = 0, **files: str) -> TrainingState:
    """The same with folders in the configuration's store: no weights, but tokenizers, templates
    and `files`."""
    state = make_state(config, iteration)
    first = {name: _store_folder(config, ref, files) for name, ref in state.initial.items()}
    now = {name: _store_folder(config, ref, files) for name, ref in state.policies.items()}
    return replace(state, initial=first, policies=now)


def _store_folder(config: ExperimentConfig, ref: PolicyRef, files: Mapping[str, str]) -> PolicyRef:
    texts = {
        "model.safetensors": ref.tag,
        "tokenizer.json": json.dumps({"of": ref.name}),
        "chat_template.jinja": "{{ messages }}",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**texts, **files}.items():
            (Path(folder) / name).write_text(text)
        stored = open_store(config.storage).upload_folder(folder)
    return replace(ref, uri=stored.uri, sha256=stored.sha256, bytes=stored.bytes)
