"""The import of a model as a pipeline: what it books, what it refuses, and a run of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.models.records import listed
from components.settings import InitConfig, StorageConfig
from components.storage import open_store
from components.update.initialise.scratch import write_scratch_model
from pipelines.__main__ import main
from pipelines.local import run_local
from tests.doubles.hub import COMMIT, TOKEN, Hub, serve_hub
from tests.pipelines.experiment import DIGEST

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
IMAGE = ["--set-image", f"deepspeed=registry.example/rolewise/deepspeed@sha256:{DIGEST}"]


def compiled(folder: Path, *words: str) -> list[dict[str, Any]]:
    path = folder / "import.yaml"
    assert main(["import-model", *words, "-o", str(path)]) == 0
    return list(yaml.safe_load_all(path.read_text()))


def test_it_books_the_hub_s_secret_and_no_gpu(tmp_path: Path) -> None:
    words = ["hf://org/model@main", "--store", "s3://bucket/teams", "--profile", "8xh100", *IMAGE]
    spec, platform = compiled(tmp_path, *words)
    pod = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-import-model"]
    secrets = {item["secretName"]: item["optional"] for item in pod["secretAsEnv"]}
    assert secrets == {"rolewise-storage": False, "rolewise-hub": True}
    assert pod["podMetadata"]["labels"]["rolewise.dev/hub"] == "true"
    assert "nodeSelector" not in pod and "tolerations" not in pod
    container = spec["deploymentSpec"]["executors"]["exec-import-model"]["container"]
    assert "accelerator" not in container["resources"] and DIGEST in container["image"]
    parameters = spec["root"]["inputDefinitions"]["parameters"]
    assert parameters["source"]["defaultValue"] == "hf://org/model@main"
    assert all(value["description"] for value in parameters.values())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.gguf", *IMAGE], "is on this machine only"),
        (["hf://a/b@main", *IMAGE], "--store file://build/store: the pods of profile 8xh100 share"),
        (["hf://a/b@main", "--store", "s3://b/t"], "no image for deepspeed"),
        ([], "SOURCE is missing"),
    ],
)
def test_what_a_cluster_cannot_reach_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    output = tmp_path / "import.yaml"
    assert main(["import-model", *words, "--profile", "8xh100", "-o", str(output)]) == 2
    assert message in capsys.readouterr().err and not output.exists()


@pytest.mark.full
def test_it_imports_with_the_secret_s_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_scratch_model(tmp_path / "tiny", InitConfig(hidden_size=32, num_layers=1), ("a1",), 0)
    store = f"file://{tmp_path}/store"
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with serve_hub(Hub(tmp_path / "tiny", gated=True)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        compiled(tmp_path, "hf://team/tiny@main", "--store", store, "--name", "tiny")
        lines: list[str] = []
        code = run_local(tmp_path / "import.yaml", {}, tmp_path / "artifacts", lines.append)
    assert code == 0, "\n".join(lines)
    (record,) = listed(open_store(StorageConfig(uri=store)))
    assert record.source == f"hf://team/tiny@{COMMIT}"
    (page,) = (path for path in (tmp_path / "artifacts").rglob("model") if path.is_file())
    assert f"base: {record.base}" in page.read_text()
    assert TOKEN not in "\n".join(lines)
