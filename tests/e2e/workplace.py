"""A folder with a small experiment, its store and its tracking database, and the command line."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from components.config import ExperimentConfig, load_config
from components.state import TrainingState, latest_iteration, read_state
from components.storage import open_store
from pipelines.__main__ import main

INIT = {
    "hidden_size": 32, "intermediate_size": 64, "num_layers": 1, "num_heads": 1,
    "num_kv_heads": 1, "max_position_embeddings": 256,
}  # fmt: skip
SCRATCH: dict[str, Any] = {"base": "init://", "init": INIT}
"""A policy that costs nothing."""


def words_experiment(
    roles: Mapping[str, str], policies: Mapping[str, Any] | None = None, **sections: Any
) -> dict[str, Any]:
    """One iteration of the environment of tests/doubles/words.py; sections replace or add."""
    content: dict[str, Any] = {
        "name": "words",
        "iterations": 1,
        "env": {"name": "tests.doubles.words:make_words", "options": {"roles": list(roles)}},
        "policies": policies or dict.fromkeys(dict.fromkeys(roles.values()), SCRATCH),
        "roles": dict(roles),
        "rollout": {
            "engine": "transformers", "num_tasks": 2, "num_candidates": 3, "num_turns": 2,
            "max_new_tokens": 3, "max_prompt_tokens": 64,
        },
        "update": {"learning_rate": 1e-2, "minibatch_size": 16},
        "evaluation": {"num_tasks": 3},
    }  # fmt: skip
    return content | sections


@dataclass(frozen=True)
class Workplace:
    """Everything that a command leaves lies below `folder`."""

    folder: Path

    def write(self, content: Mapping[str, Any]) -> None:
        """The experiment, with store and tracking in the folder."""
        where = {
            "storage": {"uri": f"file://{self.folder}/store", "cache": f"{self.folder}/cache"},
            "tracking": {"uri": f"sqlite:///{self.folder}/mlflow.db"},
        }
        (self.folder / "config.yaml").write_text(yaml.safe_dump(where | dict(content)))

    @property
    def config(self) -> ExperimentConfig:
        return load_config(self.folder / "config.yaml")

    def command(self, *words: str) -> list[str]:
        """`python -m pipelines <verb> config.yaml <rest>`."""
        verb, *rest = words
        return [sys.executable, "-m", "pipelines", verb, str(self.folder / "config.yaml"), *rest]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The command as a process, to its end."""
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=300)

    def call(self, *words: str) -> int:
        """The command in this process, which has its libraries already; the exit code."""
        verb, *rest = words
        return main([verb, str(self.folder / "config.yaml"), *rest])

    def state(self, name: str, iteration: int) -> TrainingState:
        return read_state(open_store(self.config.storage), name, iteration)

    def latest(self, name: str) -> int | None:
        return latest_iteration(open_store(self.config.storage), name)

    def weights(self, name: str, iteration: int = 2) -> dict[str, tuple[str, str]]:
        """Policy -> digests of its weights and its optimiser state."""
        state = self.state(name, iteration)
        return {
            policy: (ref.sha256, state.optimizers[policy].sha256)
            for policy, ref in state.policies.items()
        }
