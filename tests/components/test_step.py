"""A step runs once: what decides its result, what is checked, and what survives a kill."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from components.config import parse_config
from components.errors import ConfigError, RecordError, StorageError
from components.manifests import output_key, read_manifest, read_output, step_key
from components.settings import StorageConfig
from components.step import StepContext, input_digests, run_step
from components.storage import open_store
from tests.doubles.experiment import content


@dataclass
class Doubling:
    """A step that doubles the number in its input and counts how often it computes."""

    folder: Path
    settings: StorageConfig
    calls: int = 0
    seen: list[StepContext] = field(default_factory=list)

    @property
    def output(self) -> Path:
        return self.folder / "out" / "doubled"

    def config(self, **changes: Any) -> str:
        storage = self.settings.model_dump()
        return parse_config(content(storage=storage, **changes)).to_json()

    def __call__(
        self, number: int = 1, name: str = "double", **changes: Any
    ) -> Mapping[str, float]:
        source = self.folder / "number"
        source.write_text(str(number))
        arguments = {"config": self.config(), "run": "r", "iteration": 1} | changes
        return run_step(
            name,
            inputs={"number": str(source)},
            outputs={"doubled": str(self.output)},
            compute=self.compute,
            **arguments,
        )

    def compute(self, step: StepContext) -> Mapping[str, float]:
        self.calls += 1
        self.seen.append(step)
        result = 2 * int((self.folder / "number").read_text())
        self.output.write_text(str(result))
        return {"double/result": result}


@pytest.fixture(params=["file", "s3"])
def step(request: pytest.FixtureRequest, tmp_path: Path) -> Doubling:
    return Doubling(tmp_path, request.getfixturevalue(f"{request.param}_settings"))


@pytest.fixture
def file_step(file_settings: StorageConfig, tmp_path: Path) -> Doubling:
    return Doubling(tmp_path, file_settings)


def test_a_committed_step_is_not_computed_again(step: Doubling) -> None:
    first = step(3)
    step.output.unlink()
    assert step(3) == first
    assert step.calls == 1
    assert step.output.read_text() == "6"


@pytest.mark.parametrize(
    "changes",
    [
        {"number": 4},
        {"run": "other"},
        {"iteration": 2},
        {"name": "double-tool"},
        {"extra": {"policies": ["tool"]}},
        {"memo": False},
    ],
)
def test_whatever_decides_the_result_is_a_miss(file_step: Doubling, changes: Any) -> None:
    file_step(number=3)
    file_step(**{"number": 3} | changes)
    assert file_step.calls == 2


def test_another_configuration_is_a_miss_but_more_iterations_are_not(file_step: Doubling) -> None:
    file_step(3)
    file_step(3, config=file_step.config(iterations=99))
    assert file_step.calls == 1
    file_step(3, config=file_step.config(seed=5))
    assert file_step.calls == 2


def test_the_process_is_measured(file_step: Doubling) -> None:
    metrics = file_step(name="double-tool")
    system = measured(metrics, "double-tool")
    assert metrics["double/result"] == 2.0
    assert set(system) == {"wall_s", "cpu_s", "storage_s", "storage_cpu_s", "peak_memory_mib"}
    assert 0 < system["storage_s"] < system["wall_s"]
    assert 0 < system["storage_cpu_s"] < system["cpu_s"]
    assert 1 < system["peak_memory_mib"] < 100_000


def test_kinds_of_work_are_told_apart(file_step: Doubling) -> None:
    """A download inside the load of an engine is storage."""

    def compute(step: StepContext) -> Mapping[str, float]:
        with step.meter.measure("load"):
            step.store.write("slow", b"x" * 2**24)
        file_step.output.write_text("6")
        return {}

    system = measured(_run(file_step, compute), "double")
    assert 0 < system["load_s"] < system["storage_s"]


def test_a_step_in_a_process_of_its_own_has_a_start(
    file_step: Doubling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_KFP_RUNTIME", "true")
    system = measured(file_step(), "double")
    gc.unfreeze()
    assert system["start_s"] > 0 and system["start_cpu_s"] > 0
    stored = read_manifest(open_store(file_step.settings), "r", 1)["double"].metrics
    assert measured(stored, "double") == system


def test_the_context_is_complete(file_step: Doubling) -> None:
    file_step()
    (context,) = file_step.seen
    assert (context.run, context.iteration, context.name) == ("r", 1, "double")
    assert context.config.name == "tiny"
    assert context.store.uri == file_step.settings.uri
    assert context.cache == Path(file_step.settings.cache)


def test_the_manifest_says_what_was_made(step: Doubling) -> None:
    metrics = step(3, name="double-tool", extra={"policies": ["tool"]})
    store = open_store(step.settings)
    manifest = read_manifest(store, "r", 1)["double-tool"]
    assert manifest.metrics == metrics
    assert manifest.extra == {"policies": ["tool"]}
    digests = input_digests({"number": str(step.folder / "number")})
    key = step_key(
        parse_config(step.config()), "r", 1, "double-tool", digests, {"policies": ["tool"]}
    )
    assert read_output(store, key, "doubled") == b"6"
    with pytest.raises(StorageError, match=r"no output 'halved'; got \['doubled'\]"):
        read_output(store, key, "halved")
    with pytest.raises(StorageError, match="no such object"):
        read_output(store, key.replace("double-tool", "double-plan"), "doubled")


def test_a_changed_output_is_refused_with_both_digests(file_step: Doubling) -> None:
    file_step(3)
    store = open_store(file_step.settings)
    (key,) = (key for key in store.list("runs/") if key.endswith("manifest.json"))
    store.write(output_key(key, "doubled"), b"7")
    for ask in (lambda: file_step(3), lambda: read_output(store, key, "doubled")):
        with pytest.raises(StorageError, match=r"doubled: sha256 expected \w{64}, got \w{64}; del"):
            ask()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "fast", None])
def test_metrics_are_finite(file_step: Doubling, value: Any) -> None:
    def compute(step: StepContext) -> Mapping[str, float]:
        file_step.output.write_text("6")
        return {"double/speed": value}

    with pytest.raises(RecordError, match="'double/speed' is .*, expected a finite number"):
        _run(file_step, compute)
    assert read_manifest(open_store(file_step.settings), "r", 1) == {}


def test_a_missing_output_is_named(file_step: Doubling) -> None:
    with pytest.raises(RecordError, match="output 'doubled' was not written to"):
        _run(file_step, lambda step: {})
    assert read_manifest(open_store(file_step.settings), "r", 1) == {}


def test_a_missing_input_is_named(file_step: Doubling) -> None:
    with pytest.raises(RecordError, match="input 'number' at /nowhere: cannot be read"):
        run_step("double", file_step.config(), "r", 1, {"number": "/nowhere"}, {}, lambda _: {})


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("two\n  lines"), "two lines"),
        (StorageError("no such object"), "no such object"),
        (KeyError("planner"), "KeyError: 'planner'"),
        (AssertionError(), "AssertionError: "),
    ],
)
def test_an_error_is_one_line_and_rises(
    file_step: Doubling, capsys: pytest.CaptureFixture[str], error: Exception, text: str
) -> None:
    def compute(_: StepContext) -> Mapping[str, float]:
        raise error

    with pytest.raises(type(error)) as caught:
        _run(file_step, compute)
    assert caught.value is error
    assert capsys.readouterr().err == f"error: double (run r, iteration 1): {text}\n"


def test_a_full_disk_in_a_step_is_named(
    file_step: Doubling, capsys: pytest.CaptureFixture[str]
) -> None:
    def compute(_: StepContext) -> Mapping[str, float]:
        Path("/dev/full").write_text("x")
        return {}

    with pytest.raises(StorageError, match="the disk is full"):
        _run(file_step, compute)
    assert "error: double (run r, iteration 1): " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Update", "update/tool", "update-", "../x", ""])
def test_step_names_are_safe(file_step: Doubling, name: str) -> None:
    with pytest.raises(ConfigError, match="step name"):
        file_step(name=name)


def test_run_names_are_safe(file_step: Doubling) -> None:
    with pytest.raises(ConfigError, match="run name"):
        file_step(run="../x")


KILLED = """
import os, signal, sys
from pathlib import Path
from components.step import run_step
from components.storage.local import LocalStore

config, number, doubled, method = sys.argv[1:]
setattr(LocalStore, method, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))

def compute(step):
    Path(doubled).write_text("6")
    return {"double/result": 6}

run_step("double", config, "r", 1, {"number": number}, {"doubled": doubled}, compute)
"""


@pytest.mark.parametrize("method", ["upload_file", "write"])
def test_a_killed_step_has_no_result_and_runs_again(file_step: Doubling, method: str) -> None:
    """Killed before the outputs, and between the outputs and the manifest."""
    source = file_step.folder / "number"
    source.write_text("3")
    file_step.output.parent.mkdir()
    command = [sys.executable, "-c", KILLED, file_step.config(), source, file_step.output, method]
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    result = subprocess.run(command, env=environment, check=False)
    assert result.returncode == -signal.SIGKILL
    store = open_store(file_step.settings)
    assert [key.rpartition("/")[2] for key in store.list("")] == (
        ["doubled"] if method == "write" else []
    )
    file_step(3)
    file_step(3)
    assert file_step.calls == 1


def test_a_step_starts_without_libraries_it_does_not_need() -> None:
    script = (
        "import sys, components.load_state.main; print(*{m.split('.')[0] for m in sys.modules})"
    )
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert not {"boto3", "mlflow", "torch", "pyarrow", "pandas", "kfp"} & set(result.stdout.split())


def measured(metrics: Mapping[str, float], step: str) -> dict[str, float]:
    """What stands below `system/<step>/`."""
    prefix = f"system/{step}/"
    return {
        name.removeprefix(prefix): value
        for name, value in metrics.items()
        if name.startswith(prefix)
    }


def _run(step: Doubling, compute: Any) -> Mapping[str, float]:
    return run_step("double", step.config(), "r", 1, {}, {"doubled": str(step.output)}, compute)
