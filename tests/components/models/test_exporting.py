"""Exported teams load in plain libraries, and answer as they did where they were trained."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from components.errors import PolicyError, StorageError
from components.models.export_page import commands
from components.models.exporting import Export, Wanted, export_team
from components.policies import Team
from components.storage import Store
from tests.components.rollout_engines.tiny_team import make_adapter, make_policy, make_store

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
PROMPT = [{"role": "user", "content": "walls a1 b2 c3 goal d4 at e5"}]
ENV = {
    "name": "plan_path", "version": "1", "reward": "dense", "options_digest": "0" * 64,
    "prompts": "1" * 64,
}  # fmt: skip
FACTS: dict[str, Any] = {
    "team": "quick", "run": "r", "iteration": 3, "dtype": "float32", "envs": {"plan_path": ENV},
    "evaluation": {"validation/success": 0.9}, "gate": {},
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store")


@pytest.fixture
def team(store: Store, tmp_path: Path) -> Team:
    """Two roles with an adapter each on one base, one role with weights of its own."""
    base = make_policy(store, tmp_path, "base", 0, scale=8.0)
    policies = {
        "plan": make_adapter(store, tmp_path, "plan", base, 1),
        "tool": make_adapter(store, tmp_path, "tool", base, 2),
        "judge": make_policy(store, tmp_path, "judge", 3, scale=8.0),
    }
    return Team(policies, {"planner": "plan", "tooler": "tool", "judge": "judge"})


def export(store: Store, team: Team, target: Path, **changes: Any) -> Export:
    bases = dict.fromkeys(team.policies, "init://")
    given = {"merge": False, "role": None} | changes
    wanted = Wanted(team, store, target.parent / "cache", bases, FACTS, 4096, **given)
    return export_team(wanted, target, say=lambda text: None)


def load(folder: Path, made: Export, role: str) -> tuple[Any, Any]:
    """As the export's README says."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    policy = made.policies[made.roles[role]]
    home = folder / (policy.base or policy.folder)
    model = AutoModelForCausalLM.from_pretrained(home)
    if policy.base:
        model = PeftModel.from_pretrained(model, str(folder / policy.folder))
    return model.eval(), AutoTokenizer.from_pretrained(home)


def answer(model: Any, tokenizer: Any) -> tuple[list[int], Any]:
    """Greedy tokens, and the logits of the first."""
    import torch

    prompt = tokenizer.apply_chat_template(
        PROMPT, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    with torch.no_grad():
        logits = model(**prompt).logits[0, -1]
        whole = model.generate(**prompt, max_new_tokens=16, do_sample=False)
    return whole[0, prompt["input_ids"].shape[1] :].tolist(), logits


def test_every_role_loads_and_bases_are_written_once(
    store: Store, team: Team, tmp_path: Path
) -> None:
    made = export(store, team, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "README.md", "bases", "policies", "team.json",
    }  # fmt: skip
    assert len(list((tmp_path / "out" / "bases").iterdir())) == 1
    assert not list((tmp_path / "out").rglob("rolewise-manifest.json"))
    answers = {role: answer(*load(tmp_path / "out", made, role))[0] for role in team.roles}
    assert len({tuple(ids) for ids in answers.values()}) == 3
    assert json.loads((tmp_path / "out" / "team.json").read_text())["roles"] == dict(team.roles)


def test_merged_adapters_answer_as_before(store: Store, team: Team, tmp_path: Path) -> None:
    import torch

    apart = export(store, team, tmp_path / "apart")
    merged = export(store, team, tmp_path / "merged", merge=True)
    assert not (tmp_path / "merged" / "bases").exists()
    assert {policy.merged for policy in merged.policies.values()} == {True, False}
    for role in ("planner", "tooler"):
        before_ids, before = answer(*load(tmp_path / "apart", apart, role))
        ids, logits = answer(*load(tmp_path / "merged", merged, role))
        assert ids == before_ids
        torch.testing.assert_close(logits, before, atol=1e-4, rtol=1e-4)
    config = json.loads((tmp_path / "merged/policies/plan/config.json").read_text())
    assert config["dtype"] == "float32"


def test_a_merge_keeps_the_dtype_of_its_base(store: Store, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    make_policy(store, tmp_path, "base", 0)
    folder = tmp_path / "base"
    weights = {
        key: value.bfloat16() for key, value in load_file(folder / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    content = json.loads((folder / "config.json").read_text()) | {"dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(content))
    ref = store.upload_folder(folder)
    from components.policies import PolicyRef

    base = PolicyRef("base", 0, ref.uri, ref.sha256, ref.bytes)
    team = Team({"plan": make_adapter(store, tmp_path, "plan", base, 1)}, {"planner": "plan"})
    export(store, team, tmp_path / "out", merge=True)
    merged = load_file(tmp_path / "out/policies/plan/model.safetensors")
    assert {value.dtype for value in merged.values()} == {torch.bfloat16}
    name = "model.layers.0.mlp.up_proj.weight"
    assert not torch.equal(merged[name], weights[name])
    assert torch.equal(merged["model.embed_tokens.weight"], weights["model.embed_tokens.weight"])


def test_one_role_alone(store: Store, team: Team, tmp_path: Path) -> None:
    made = export(store, team, tmp_path / "out", role="planner")
    assert list(made.policies) == ["plan"] and made.roles == {"planner": "plan"}
    assert [path.name for path in (tmp_path / "out/policies").iterdir()] == ["plan"]
    with pytest.raises(PolicyError, match="role 'referee' has no policy; roles with one: judge"):
        export(store, team, tmp_path / "none", role="referee")
    assert not (tmp_path / "none").exists()


def test_a_folder_in_use_is_left_alone(store: Store, team: Team, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    with pytest.raises(PolicyError, match="is there already"):
        export(store, team, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_made_is_named(store: Store, team: Team) -> None:
    with pytest.raises(StorageError, match="/proc/out: cannot be written: "):
        export(store, team, Path("/proc/out"))


def test_an_export_that_fails_leaves_nothing(store: Store, team: Team, tmp_path: Path) -> None:
    lost = team.policies["tool"].sha256
    file = next((tmp_path / "store").glob(f"policies/{lost}/adapter_model.safetensors"))
    file.unlink()
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(Exception, match="adapter_model.safetensors"):
        export(store, team, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} - {"cache"} == before - {"cache"}


def test_its_page_names_a_command_per_server(store: Store, team: Team, tmp_path: Path) -> None:
    made = export(store, team, tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    (block,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [shlex.split(line) for line in block.splitlines()]
    written = json.loads((tmp_path / "out" / "team.json").read_text())
    assert lines == [["vllm", "serve", *words] for words in commands(written)]
    first, second = lines
    assert first[first.index("--lora-modules") + 1 :][:2] == [
        "planner=./policies/plan", "tooler=./policies/tool",
    ]  # fmt: skip
    assert first[first.index("--max-lora-rank") + 1] == "8"  # vLLM has no rank of 4
    assert second[second.index("--served-model-name") + 1] == "judge"
    assert second[second.index("--max-model-len") + 1] == "256"  # what the model holds
    assert "made from scratch" in text and "Success on validation tasks: 90.0%" in text
    assert made.policies["plan"].rank == 4
