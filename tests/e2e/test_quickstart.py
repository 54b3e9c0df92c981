"""A whole training run, small: both runners, killed and resumed, end with the same weights."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import load_config
from components.state import read_state
from components.storage import open_store

POLICY = {
    "base": "init://",
    "init": {
        "hidden_size": 32, "intermediate_size": 64, "num_layers": 1, "num_heads": 1,
        "num_kv_heads": 1, "max_position_embeddings": 256,
    },
}  # fmt: skip
EXPERIMENT: dict[str, Any] = {
    "name": "tiny",
    "iterations": 2,
    "env": {
        "name": "plan_path",
        "options": {
            "height": 4, "width": 4, "num_walls": 4, "action_language": "cells",
            "tool": "search", "prompt_style": "compact",
        },
    },
    "policies": {"tool": POLICY, "planner": POLICY},
    "roles": {"tool": "tool", "planner": "planner"},
    "rollout": {
        "engine": "transformers", "num_tasks": 4, "num_candidates": 3, "num_turns": 2,
        "max_new_tokens": 8, "max_prompt_tokens": 128,
    },
    "update": {"learning_rate": 1e-3, "minibatch_size": 16},
    "warm_start": {"steps": 5, "batch_size": 8, "warmup_steps": 1, "num_tasks": 16},
    "evaluation": {"num_tasks": 6, "swapped": True},
}  # fmt: skip


@dataclass(frozen=True)
class Workplace:
    """A folder with an experiment, its store and its tracking database."""

    folder: Path

    def command(self, *words: str) -> list[str]:
        verb, *rest = words
        return [sys.executable, "-m", "pipelines", verb, str(self.folder / "config.yaml"), *rest]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """`python -m pipelines <words>`, to its end."""
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=300)

    def weights(self, name: str, iteration: int = 2) -> dict[str, tuple[str, str]]:
        """Policy -> digests of its weights and its optimiser state."""
        config = load_config(self.folder / "config.yaml")
        state = read_state(open_store(config.storage), name, iteration)
        return {
            policy: (ref.sha256, state.optimizers[policy].sha256)
            for policy, ref in state.policies.items()
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    folder = tmp_path_factory.mktemp("e2e")
    where = {
        "storage": {"uri": f"file://{folder}/store", "cache": f"{folder}/cache"},
        "tracking": {"uri": f"sqlite:///{folder}/mlflow.db"},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(EXPERIMENT | where))
    yield Workplace(folder)


@pytest.fixture(scope="module")
def reference(place: Workplace) -> str:
    """What an undisturbed run in one process printed; its name is `e2e-reference`."""
    done = place.run("run", "--name", "e2e-reference", "--runner", "inprocess")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_run_ends_with_table_verdict_and_report(place: Workplace, reference: str) -> None:
    assert "iteration 2/2: success before it" in reference
    assert "promotion: " in reference
    assert "mlflow ui --backend-store-uri sqlite:///" in reference
    page = Path("build/runs/e2e-reference/report.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html")


def test_training_changes_the_weights(place: Workplace, reference: str) -> None:
    before, after = (place.weights("e2e-reference", iteration) for iteration in (1, 2))
    assert all(before[policy][0] != after[policy][0] for policy in ("tool", "planner"))


def test_a_finished_run_does_nothing(place: Workplace, reference: str) -> None:
    again = place.run("run", "--name", "e2e-reference", "--runner", "inprocess")
    assert again.returncode == 0
    assert "all 2 iterations are done, nothing was run" in again.stdout
    assert "promotion: " in again.stdout


def test_promote_repeats_the_verdict(place: Workplace, reference: str) -> None:
    """Two iterations of a model that knows nothing do not pass the gate."""
    done = place.run("promote", "--name", "e2e-reference", "--runner", "inprocess")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "promotion: refused" in done.stdout


def test_processes_give_the_same_weights(place: Workplace, reference: str) -> None:
    done = place.run("run", "--name", "e2e-local")
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.weights("e2e-local") == place.weights("e2e-reference")


def test_fault_11_a_killed_run_goes_on_to_the_same_weights(
    place: Workplace, reference: str
) -> None:
    moment = random.SystemRandom().randint(1, 11), random.SystemRandom().uniform(0.0, 1.5)
    words = ("run", "--name", "e2e-killed", "--runner", "inprocess")
    kill_after(place.command(*words), *moment)
    done = place.run(*words)
    assert done.returncode == 0, f"killed at {moment}: {done.stdout}{done.stderr}"
    assert place.weights("e2e-killed") == place.weights("e2e-reference"), f"killed at {moment}"


def kill_after(command: list[str], num_lines: int, delay_s: float) -> None:
    """Start a command and kill its process group some time after its n-th line of output."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    for _ in range(num_lines):
        process.stdout.readline()
    time.sleep(delay_s)
    os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()


@pytest.mark.full
def test_staged_placement_gives_the_same_weights(place: Workplace, reference: str) -> None:
    staged = ("--set", "rollout.placement=staged", "--set", "update.share_process=false")
    done = place.run("run", "--name", "e2e-staged", "--runner", "inprocess", *staged)
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.weights("e2e-staged") == place.weights("e2e-reference")
