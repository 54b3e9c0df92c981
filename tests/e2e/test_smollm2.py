"""A real instruct model on Plan-Path, smaller than the experiment: adapters learn on one base."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.config import ExperimentConfig, load_config
from components.manifests import merged_metrics, read_manifest
from components.state import read_state
from components.storage import Store, open_store
from components.storage.folders import verify

pytestmark = pytest.mark.full

EXPERIMENT = "experiments/plan_path_smollm2/config.yaml"
SMALLER = (
    "rollout.num_tasks=2", "rollout.num_turns=1", "rollout.max_new_tokens=32",
    "update.minibatch_size=8", "evaluation.num_tasks=1",
)  # fmt: skip
RUN = "smollm2-small"


@dataclass(frozen=True)
class Trained:
    """A finished run and where it lies."""

    config: ExperimentConfig
    store: Store
    folder: Path
    command: list[str]
    printed: str

    @property
    def metrics(self) -> dict[str, float]:
        manifests = read_manifest(self.store, RUN, 1).values()
        return merged_metrics(manifest.metrics for manifest in manifests)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    folder = tmp_path_factory.mktemp("smollm2")
    overrides = [
        *SMALLER, f"storage.uri=file://{folder}/store", f"storage.cache={folder}/cache",
        f"tracking.uri=sqlite:///{folder}/mlflow.db",
    ]  # fmt: skip
    command = [sys.executable, "-m", "pipelines", "run", EXPERIMENT, "--name", RUN]
    command += ["--runner", "inprocess", *(word for text in overrides for word in ("--set", text))]
    done = _run(command, timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    config = load_config(EXPERIMENT, overrides)
    yield Trained(config, open_store(config.storage), folder, command, done.stdout)


def _run(command: list[str], timeout_s: float) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, env=environment
    )


def test_groups_have_variance(trained: Trained) -> None:
    for role in ("tool", "planner"):
        assert trained.metrics[f"grouping/{role}/num_groups"] == 2
        assert trained.metrics[f"grouping/{role}/frac_reward_zero_std"] < 1.0


def test_both_adapters_change_and_the_terminal_says_so(trained: Trained) -> None:
    from safetensors.torch import load_file

    state = read_state(trained.store, RUN, 1)
    for policy in ("tool", "planner"):
        assert trained.metrics[f"update/{policy}/weights_changed"] > 0
        assert f"{policy}: 8 samples, 2 groups as {policy}" in trained.printed
        folder = trained.store.download_folder(state.policies[policy].folder, trained.folder)
        weights = load_file(folder / "adapter_model.safetensors")
        moved = [name for name in weights if "lora_B" in name and weights[name].any()]
        assert len(moved) == sum("lora_B" in name for name in weights) > 0


def test_one_base_is_stored_once_and_stays_as_it_was(trained: Trained) -> None:
    before, after = (read_state(trained.store, RUN, iteration).policies for iteration in (0, 1))
    bases = {ref.base for refs in (before, after) for ref in refs.values()}
    assert len(bases) == 1
    base = bases.pop()
    assert base is not None
    models = list((trained.folder / "store" / "policies").glob("*/model.safetensors"))
    assert [path.parent.name for path in models] == [base.sha256]
    verify(models[0].parent, base.folder, concurrency=1)
    assert before["tool"].sha256 != before["planner"].sha256


def test_bfloat16_log_probs_are_recomputed_and_weighted(trained: Trained) -> None:
    for policy in ("tool", "planner"):
        mismatch = trained.metrics[f"update/{policy}/logprob_mismatch"]
        assert 0 < mismatch < trained.config.update.max_logprob_mismatch / 2
        assert trained.metrics[f"update/{policy}/importance_mean"] == pytest.approx(1.0, abs=0.1)


def test_a_second_run_does_nothing(trained: Trained) -> None:
    again = _run(trained.command, timeout_s=120)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "all 1 iterations are done, nothing was run" in again.stdout
