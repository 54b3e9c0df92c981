"""The step: references to version 0 of every policy."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.config import parse_config
from components.errors import ConfigError
from components.policies import PolicyRef
from components.settings import StorageConfig
from components.storage import open_store
from components.update.initialise.main import initialise, lexicon_of
from tests.doubles.experiment import make_config

INIT = {"hidden_size": 32, "num_layers": 1, "intermediate_size": 64}
OPTIONS = {"prompt_style": "compact", "height": 5, "width": 5}


def run(folder: Path, policies: dict[str, Any], seed: int = 0) -> dict[str, PolicyRef]:
    config = parse_config(
        {
            "name": "initial",
            "seed": seed,
            "env": {"name": "plan_path", "options": OPTIONS},
            "policies": policies,
            "roles": {name: name for name in policies},
            "storage": {"uri": f"file://{folder}/store", "cache": f"{folder}/cache"},
        }
    )
    target = folder / "policies.json"
    metrics = initialise(config.to_json(), "r", 0, {}, {"policies": str(target)})
    assert all(metrics[f"initialise/{name}/megabytes"] > 0.0 for name in policies)
    content = json.loads(target.read_text())["policies"]
    return {name: PolicyRef.from_json(value) for name, value in content.items()}


def download(folder: Path, ref: PolicyRef) -> Path:
    store = open_store(StorageConfig(uri=f"file://{folder}/store"))
    return store.download_folder(ref.folder, folder / "cache")


def full() -> dict[str, Any]:
    return {"base": "init://", "init": INIT}


def test_policies_from_scratch_differ_by_name_and_repeat_by_seed(tmp_path: Path) -> None:
    first = run(tmp_path / "1", {"planner": full(), "tool": full()})
    again = run(tmp_path / "2", {"tool": full(), "planner": full()})
    other = run(tmp_path / "3", {"planner": full(), "tool": full()}, seed=1)
    assert first["planner"].sha256 != first["tool"].sha256
    assert {n: r.sha256 for n, r in first.items()} == {n: r.sha256 for n, r in again.items()}
    assert first["tool"].sha256 != other["tool"].sha256
    assert [(r.name, r.version, r.base) for r in first.values()] == [
        ("planner", 0, None),
        ("tool", 0, None),
    ]
    assert not list((tmp_path / "1" / "cache" / "bases").glob("init-*"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_adapters_share_their_base_and_change_nothing(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    lora = {**full(), "lora": {"r": 2, "alpha": 4}}
    refs = run(tmp_path, {"planner": lora, "tool": lora})
    planner, tool = refs["planner"], refs["tool"]
    assert planner.base is not None and planner.base == tool.base
    assert planner.sha256 != tool.sha256
    folder = download(tmp_path, planner)
    weights = load_file(str(folder / "adapter_model.safetensors"))
    assert len(weights) == 2 * 7  # A and B of the seven linear layers of one block
    for name, value in weights.items():
        assert value.any() == ("lora_A" in name)
    assert json.loads((folder / "adapter_config.json").read_text())["r"] == 2
    targets = json.loads((folder / "adapter_config.json").read_text())["target_modules"]
    assert targets == sorted(targets)  # equal bytes whatever the process's hash seed


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fresh_adapter_loads_in_peft_without_a_missing_weight(tmp_path: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    refs = run(tmp_path, {"tool": {**full(), "lora": {"r": 2, "alpha": 4}}})
    base_ref = refs["tool"].base
    assert base_ref is not None
    base = AutoModelForCausalLM.from_pretrained(download(tmp_path, base_ref))
    ids = torch.tensor([[2, 5, 6, 4]])
    with torch.no_grad():
        expected = base(ids).logits
        adapted = PeftModel.from_pretrained(base, str(download(tmp_path, refs["tool"])))
        assert torch.equal(adapted(ids).logits, expected)


def test_environment_without_lexicon_cannot_start_from_scratch() -> None:
    with pytest.raises(ConfigError, match="env: .*no_such_env"):
        lexicon_of(make_config(env={"name": "no_such_env"}))
