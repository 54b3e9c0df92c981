"""Fixtures of the update's tests: a tiny model, an adapter on it, jobs."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import torch

from components import records
from components.records import Sample
from components.settings import UpdateConfig
from components.update.job import Job
from tests.components.update.tiny import REF, write_model


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Bits depend on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Full weights."""
    return write_model(tmp_path_factory.mktemp("model") / "policy")


@pytest.fixture(scope="session")
def adapter(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh adapter (B = 0) on the model in `folder`."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    target = tmp_path_factory.mktemp("adapter") / "policy"
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(folder)
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    get_peft_model(model, config).save_pretrained(target)
    (target / "README.md").unlink()
    written = json.loads((target / "adapter_config.json").read_text())
    text = json.dumps({**written, "base_model_name_or_path": ""}, sort_keys=True)
    (target / "adapter_config.json").write_text(text)
    return target


@pytest.fixture
def make_job(tmp_path: Path, folder: Path) -> Callable[..., Job]:
    """A job on rows, in a folder of its own."""

    def make(rows: Sequence[Sample], name: str = "job", **changes: object) -> Job:
        out = tmp_path / name
        out.mkdir()
        records.write(out / "samples.parquet", Sample, records.to_table(Sample, rows))
        settings = UpdateConfig(learning_rate=1e-2, minibatch_size=8, weight_decay=0.0)
        given = {
            "kind": "reinforce", "step": "update-solo", "policy": "solo",
            "policy_version": REF.tag, "folder": str(folder), "data": str(out / "samples.parquet"),
            "out": str(out), "seed": 3, "settings": settings,
        } | changes  # fmt: skip
        return Job(**given)  # type: ignore[arg-type]

    return make
