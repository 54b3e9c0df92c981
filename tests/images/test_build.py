"""Building: one docker command a target, labels that say what is inside, no host named."""

import re
from pathlib import Path

import pytest

from images.build import TARGETS, Plan, image_name, labels, lock_files, main
from images.context import ROOT
from pipelines.pinning import STEP_RUNTIMES
from pipelines.profile import RUNTIMES, load_profile
from tests.images.fake_docker import FakeDocker

PLAN = Plan(base="some/python", variant="cpu", tag="0.1.0", commit="c0ffee")


def test_default_names_are_those_of_the_cpu_profile() -> None:
    names = {target: image_name(target, "cpu", "0.1.0") for target in TARGETS}
    assert names == load_profile("cpu").images
    assert set(TARGETS) == set(RUNTIMES.values()) >= set(STEP_RUNTIMES)


def test_every_target_is_a_stage_and_every_lock_exists() -> None:
    stages = re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "images/Dockerfile").read_text(), re.M)
    assert set(TARGETS) <= set(stages)
    for variant in ("cpu", "gpu"):
        for target in TARGETS:
            for name in lock_files(target, variant):
                assert (ROOT / "images" / name).exists(), name


def test_last_stages_leave_root() -> None:
    stages = re.split(r"^FROM ", (ROOT / "images/Dockerfile").read_text(), flags=re.M)
    users = {
        stage.split()[2]: re.findall(r"^USER (\S+)$", stage, re.M)
        for stage in stages[1:]
        if stage.split()[2] in TARGETS
    }
    assert users == dict.fromkeys(TARGETS, ["1000:1000"])


def test_labels_change_with_the_locks(tmp_path: Path) -> None:
    for name in ("cpu/requirements.lock", "install.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a==1\n")
    first = labels(PLAN, "cpu", tmp_path)
    assert first["org.opencontainers.image.revision"] == "c0ffee"
    assert first["org.opencontainers.image.base.name"] == "some/python"
    (tmp_path / "cpu/requirements.lock").write_text("a==2\n")
    second = labels(PLAN, "cpu", tmp_path)
    assert {key for key in first if first[key] != second[key]} == {"rolewise.lock.sha256"}


def test_command_of_a_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docker = FakeDocker(tmp_path, monkeypatch)
    words = ["--base", "b", "--variant", "gpu", "--only", "vllm", "--flags", "--network host"]
    assert main([*words, "--dir", str(tmp_path / "context")]) == 0
    (command,) = docker.commands
    assert command[:3] == ["build", "--target", "vllm"]
    assert {"BASE=b", "VARIANT=gpu", "rolewise/vllm:0.1.0-gpu"} <= set(command)
    assert command[-3:] == ["--network", "host", str(tmp_path / "context")]
    assert "built rolewise/vllm:0.1.0-gpu in" in capsys.readouterr().out


def test_docker_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FakeDocker(tmp_path, monkeypatch).fails_at("build")
    assert main(["--only", "cpu", "--dir", str(tmp_path / "context")]) == 1
    assert "error: docker build ended with 1" in capsys.readouterr().err


def test_locks_name_no_host() -> None:
    for path in (ROOT / "images").rglob("*"):
        if path.is_file() and path.suffix in (".lock", ".sh", ".py", ""):
            assert not re.search(r"https?://", path.read_text()), path


@pytest.mark.parametrize("package", ["transformers", "peft", "numpy", "pydantic", "pyarrow"])
def test_one_version_in_all_images(package: str) -> None:
    locks = [ROOT / "requirements.lock", *(ROOT / "images").rglob("*.lock")]
    found = {
        line.partition(";")[0].strip()
        for lock in locks
        for line in lock.read_text().splitlines()
        if line.startswith(f"{package}==")
    }
    assert len(found) == 1
