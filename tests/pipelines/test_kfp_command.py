"""kfp's own command line with our pipelines, as docs/cluster.md shows it, against the stand-in."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.config import ExperimentConfig
from pipelines.compiling import compile
from tests.doubles.kfp_api import KfpApi, locally, serving
from tests.pipelines.experiment import make_config

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

KFP = str(Path(sys.executable).with_name("kfp"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KfpApi]:
    """A stand-in that executes what is posted."""
    with serving(locally(tmp_path_factory.mktemp("runs"))) as api:
        yield api


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    compile(config_in(folder), "cpu", folder / "iteration.yaml")
    return folder / "iteration.yaml"


def config_in(folder: Path) -> ExperimentConfig:
    return make_config(storage={"uri": f"file://{folder}/store"})


def kfp(server: KfpApi, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [KFP, "--endpoint", server.url, "--output", "json", *words]
    quiet = os.environ | {"HOME": "/nonexistent", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=quiet)


def test_a_run_with_a_wrong_number_says_so_and_exits_with_0(server: KfpApi, package: Path) -> None:
    words = ("-e", "teams", "-r", "mine", "-f", str(package), "-w", "run=r", "iteration=7")
    done = kfp(server, "run", "create", *words)
    assert done.returncode == 0, done.stderr  # kfp's own way: a script must read the state
    assert "Run is finished with state FAILED." in done.stdout
    (run,) = server.named("mine")
    assert run.fault == (
        "load_state (run r, iteration 7): iteration is 7: expected 1 to 3; "
        "for more, compile again with --set iterations=7"
    )


@pytest.mark.full
def test_a_wrong_type_is_refused_before_anything_runs(server: KfpApi, package: Path) -> None:
    words = ("-e", "teams", "-r", "typed", "-f", str(package), "run=001", "iteration=1")
    done = kfp(server, "run", "create", *words)  # 001 is read as the number 1
    assert done.returncode != 0
    assert "input parameter run requires type string" in done.stderr + done.stdout
    assert server.named("typed") == []


@pytest.mark.full
def test_pipelines_are_uploaded_and_run_by_version(server: KfpApi, package: Path) -> None:
    made = kfp(server, "pipeline", "upload", "-p", "teams", str(package))
    assert made.returncode == 0, made.stderr
    pipeline = server.pipelines[-1]["pipeline_id"]
    again = kfp(server, "pipeline", "upload", "-p", "teams", str(package))
    assert again.returncode != 0 and "already exists" in again.stderr
    kfp(server, "pipeline", "upload-version", "-v", "two", "-p", pipeline, str(package))
    listed = kfp(server, "pipeline", "list-versions", pipeline)
    assert [item["display_name"] for item in json.loads(listed.stdout)] == ["teams", "two"]
    version = server.versions[-1]["pipeline_version_id"]
    words = ("-e", "teams", "-r", "by-version", "-p", pipeline, "-v", version, "-t", "60")
    done = kfp(server, "run", "create", *words, "run=r", "iteration=0")
    assert "FAILED" in done.stdout, done.stderr
    (run,) = server.named("by-version")
    assert "iteration is 0: expected 1 to 3; iteration 0 is the preparation pipeline's" in run.fault
