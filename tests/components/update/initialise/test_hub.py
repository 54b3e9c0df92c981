"""The real hub client against a hub on loopback: what is fetched, resumed, refused and kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.errors import PolicyError
from components.settings import InitConfig, PolicyConfig, StorageConfig
from components.storage import open_store
from components.update.initialise.bases import materialise
from components.update.initialise.hub import fetch
from components.update.initialise.scratch import write_scratch_model
from tests.doubles.hub import COMMIT, TOKEN, Hub, serve_hub

INIT = InitConfig(hidden_size=32, num_layers=1, intermediate_size=64)


@pytest.fixture(autouse=True)
def _online(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    # read once by the library: an engine in this process may have set it before
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A model beside files that nobody wants here."""
    folder = tmp_path / "hub"
    write_scratch_model(folder, INIT, ("goal", "a1"), 0)
    (folder / "LICENSE").write_text("of the tests")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "modeling_tiny.py").write_text("raise SystemExit")
    with serve_hub(Hub(folder)) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.address)
        yield served


def test_a_branch_becomes_a_commit_and_only_what_is_wanted_comes(hub: Hub, tmp_path: Path) -> None:
    snapshot = fetch("team/tiny@main", tmp_path)
    assert (snapshot.repo, snapshot.commit, snapshot.licence) == ("team/tiny", COMMIT, "mit")
    found = {path.name: path.read_bytes() for path in snapshot.folder.iterdir()}
    there = {path.name: path.read_bytes() for path in hub.folder.iterdir()}
    assert found == {
        name: data for name, data in there.items() if not name.endswith((".bin", ".py"))
    }


def test_a_commit_that_is_there_is_not_asked_for_again(hub: Hub, tmp_path: Path) -> None:
    first = fetch(f"team/tiny@{COMMIT}", tmp_path)
    asked = len(hub.asked)
    assert fetch(f"team/tiny@{COMMIT}", tmp_path) == first and len(hub.asked) == asked


def test_a_broken_line_continues_where_it_broke(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub.breaks["model.safetensors"] = 20_000
    snapshot = fetch("team/tiny@main", tmp_path)
    first, second = hub.fetched("model.safetensors")
    assert first == "" and second == "bytes=20000-"
    name = "model.safetensors"
    assert (snapshot.folder / name).read_bytes() == (hub.folder / name).read_bytes()


def test_files_that_are_whole_survive_an_end_in_between(hub: Hub, tmp_path: Path) -> None:
    weights = (hub.folder / "model.safetensors").read_bytes()
    hub.broken.add("model.safetensors")
    with pytest.raises(ValueError, match="the same command goes on"):
        fetch("team/tiny@main", tmp_path)
    hub.broken.clear()
    snapshot = fetch("team/tiny@main", tmp_path)
    assert (snapshot.folder / "model.safetensors").read_bytes() == weights
    assert len(hub.fetched("config.json")) == 1


@pytest.mark.parametrize(
    ("source", "token", "gated", "message"),
    [
        ("team/tiny", None, False, "no revision is pinned; expected hf://team/tiny@<commit>"),
        ("team/tiny@v9", None, False, "team/tiny has no revision 'v9'; name a commit"),
        ("team/none@main", None, False, "no model team/none.*put a token into HF_TOKEN"),
        ("team/none@main", TOKEN, False, "no model team/none.*is its token allowed to read it"),
        ("team/tiny@main", "hf_wrong", False, r"refuses the token in HF_TOKEN \(401\)"),
        ("team/tiny@main", None, True, "team/tiny is gated; accept.*its token into HF_TOKEN"),
        ("team/tiny@main", TOKEN, True, "team/tiny is gated; accept.*the token in HF_TOKEN"),
    ],
)
def test_a_refusal_is_named_with_its_fix(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    source: str, token: str | None, gated: bool, message: str,
) -> None:  # fmt: skip
    hub.gated, hub.accepted = gated, False
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(ValueError, match=message) as caught:
        fetch(source, tmp_path)
    assert "\n" not in str(caught.value) and "hf_" not in str(caught.value)


def test_a_gated_model_comes_with_the_token_of_any_variable(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.gated = True
    monkeypatch.setenv("MODEL_READER", TOKEN)
    said: list[str] = []
    snapshot = fetch("team/tiny@main", tmp_path, token_variable="MODEL_READER", say=said.append)
    assert (snapshot.folder / "model.safetensors").is_file()
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert TOKEN.encode() not in b"".join(written) and TOKEN not in "".join(said)


def test_a_hub_that_is_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match="cannot be fetched from http://127.0.0.1:9: .*goes on"):
        fetch("team/tiny@main", tmp_path)


def test_a_run_begins_from_the_hub(hub: Hub, tmp_path: Path) -> None:
    """Plain files: a folder of links could not be stored."""
    folder = materialise(
        "tool", PolicyConfig(base=f"hf://team/tiny@{COMMIT}"), lexicon=list, seed=0,
        storage=StorageConfig(), cache=tmp_path / "cache",
    )  # fmt: skip
    ref = open_store(StorageConfig(uri=f"file://{tmp_path}/store")).upload_folder(folder)
    assert ref.bytes > 0


def test_a_stored_base_is_verified(tmp_path: Path) -> None:
    write_scratch_model(tmp_path / "model", INIT, ("goal", "a1"), 0)
    storage = StorageConfig(uri=f"file://{tmp_path}/store")
    ref = open_store(storage).upload_folder(tmp_path / "model", "models")

    def take() -> Path:
        return materialise(
            "tool", PolicyConfig(base=ref.uri), lexicon=list, seed=0, storage=storage,
            cache=tmp_path / "cache",
        )  # fmt: skip

    file = take() / "model.safetensors"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(PolicyError, match="model.safetensors: sha256 expected"):
        take()
