"""The verb preflight: its lines, its exit code, the profile and the cluster's API."""

from pathlib import Path

import pytest
import yaml

from pipelines.__main__ import main
from tests.doubles.experiment import content
from tests.doubles.kfp_api import locally, serving

DIGEST = "registry.example/rolewise/x@sha256:" + "0" * 64
IMAGES = [f"--set-image={name}={DIGEST}" for name in ("cpu", "vllm", "deepspeed")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    policy = {"base": "init://", "init": {}}
    experiment = content(
        env={"name": "plan_path", "options": {"prompt_style": "compact"}},
        policies={"tool": policy, "plan": policy},
        roles={"tool": "tool", "planner": "plan"},
        evaluation={"num_tasks": 3},
        storage={"uri": "s3://bucket/prefix"},
        tracking={"uri": "https://mlflow.example"},
    )
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(experiment))
    return path


def _lines(capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """Level -> its lines."""
    found: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        level, _, rest = line.partition(" ")
        found.setdefault(level, []).append(rest.strip())
    return found


def test_a_laptop_offline(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", str(path), "--offline"]) == 0
    found = _lines(capsys)
    assert {"ok", "tiny,"} == set(found)
    assert [line.split()[0] for line in found["ok"]][:3] == [
        "configuration", "environment", "training",
    ]  # fmt: skip


def test_long_names_do_not_move_the_column(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "grids_that_all_need_a_detour"
    bench = ["--set", f"evaluation.benchmarks={{{name}: {{options: {{detour_fraction: 1.0}}}}}}"]
    assert main(["preflight", str(path), "--offline", *bench]) == 0
    told = _lines(capsys)["ok"]
    begin = f"benchmark {name} tasks  "
    (at,) = [line for line in told if line.startswith(begin)]
    assert all(line[len(begin) - 2 : len(begin)] == "  " for line in told)
    assert all(line[len(begin)] != " " for line in told) and at


@pytest.mark.parametrize("name", ["code_qwen3_8b", "maths_qwen3_1p7b"])
def test_offline_no_problems_are_fetched_and_memory_is_estimated(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.socket.connect", None)  # whoever asks anybody fails
    command = ["preflight", f"experiments/{name}/config.yaml", "--offline", "--profile", "8xh100"]
    assert main([*command, *IMAGES]) == 0
    found = _lines(capsys)
    assert "s3://rolewise/problems/" in found["warn"][0] and "--offline" in found["warn"][0]
    estimates = [line for line in found["ok"] + found["warn"] if "KV cache" in line]
    assert estimates and "weights 0.0" not in estimates[0]
    assert sum(line.startswith("update") for line in found["ok"]) == 2


def test_offline_with_distant_problems_a_new_model_is_not_judged(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maps = ["--set", "env.name=sudoku", "--set", "env.options={puzzles: {train: 's3://b/p.txt'}}"]
    assert main(["preflight", str(path), "--offline", *maps]) == 0
    assert all("made from scratch" in line for line in _lines(capsys)["warn"][1:])


def test_a_cluster_offline_names_idle_gpus(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", str(path), "--offline", "--profile", "8xh100", *IMAGES]) == 0
    found = _lines(capsys)
    assert len(found["warn"]) == 2 and "7 of the profile's 8 GPUs stay idle" in found["warn"][0]
    assert any("of each GPU" in line for line in found["ok"])


def test_warm_servers_are_counted(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["preflight", str(path), "--offline", "--profile", "8xh100", *IMAGES]
    servers = ["--set", "rollout.server={}", "--set", "rollout.engine=vllm"]
    assert main([*command, *servers, "--set", "rollout.tensor_parallel=8"]) == 0
    found = _lines(capsys)["warn"]
    (line,) = (it for it in found if it.startswith("servers"))
    assert "2 warm servers (plan; tool) of 8 GPUs hold 16 for the whole run" in line
    assert not any(it.startswith("rollout") for it in found)


def test_an_image_without_digest_fails(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", str(path), "--offline", "--profile", "8xh100"]) == 1
    (line,) = _lines(capsys)["fail"]
    assert "no image for cpu, vllm, deepspeed" in line and "make push" in line


def test_metrics_that_end_with_the_pods_are_named(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["preflight", str(path), "--offline", *IMAGES]
    nowhere = ["--set", "tracking.uri=null"]
    assert main([*command, "--profile", "single-gpu", *nowhere]) == 0
    assert any("no tracking.uri: metrics end with the pods" in it for it in _lines(capsys)["warn"])
    own = yaml.safe_load(Path("pipelines/profiles/single-gpu.yaml").read_text())
    own["defaults"]["env"]["MLFLOW_TRACKING_URI"] = "http://mlflow:5000"
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    for arguments in (["--profile", str(tmp_path / "own.yaml"), *nowhere], ["--profile", "8xh100"]):
        assert main([*command, *arguments]) == 0
        assert "metrics end with the pods" not in capsys.readouterr().out


def test_too_many_processes_fail(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["preflight", str(path), "--offline", "--profile", "single-gpu", *IMAGES]
    assert main([*command, "--set", "update.num_processes=4"]) == 1
    (line,) = _lines(capsys)["fail"]
    assert "update.num_processes is 4, the profile books 1 GPUs" in line


def test_unknown_roles_are_one_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["preflight", str(path), "--offline", "--set", "env.options.roles=planner"]
    assert main(command) == 1
    (line,) = _lines(capsys)["fail"]
    assert "roles: unknown ['tool']" in line


def test_the_api_is_asked(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--set", f"storage.uri=file://{tmp_path}/store"]
    where += ["--set", "tracking.uri=sqlite:////proc/nothing/mlflow.db"]
    with serving(locally(tmp_path)) as api:
        command = ["preflight", str(path), *where, "--endpoint", api.url]
        assert main(command) == 1
    found = _lines(capsys)
    assert any(line.startswith("cluster") for line in found["ok"])
    (line,) = found["fail"]
    assert line.startswith("tracking") and "/proc/nothing" in line


def test_a_missing_api_is_a_failure(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--set", "storage.uri=file:///proc/nothing", "--set", "tracking.uri=file:///proc/no"]
    command = ["preflight", str(path), *where, "--endpoint", "http://127.0.0.1:9"]
    assert main(command) == 1
    assert any(line.startswith("cluster") for line in _lines(capsys)["fail"])
