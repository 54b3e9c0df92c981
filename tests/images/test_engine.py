"""The images' test says plainly why it cannot run, and what it takes from the machine."""

from pathlib import Path

import pytest

from tests.images import run
from tests.images.base import find_mirror
from tests.images.engine import NoEngine, docker_engine, install


def test_without_an_engine_the_test_says_so_and_succeeds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run.main(["--dir", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "no Docker Engine can be had here" in said and "NOT tested" in said


def test_an_engine_that_does_not_come_up_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "dockerd").write_text("#!/bin/sh\necho 'failed to mount overlay' >&2; exit 1\n")
    (tmp_path / "dockerd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with (
        pytest.raises(NoEngine, match="failed to mount overlay"),
        docker_engine(tmp_path / "engine"),
    ):
        pass
    assert not (tmp_path / "engine").exists()


def test_packages_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(NoEngine, match=r"docker\.io needs root"):
        install("docker.io")


def test_mirror_is_the_main_archive() -> None:
    lines = [
        "Vendor main http://vendor.example/debian/",
        "Debian main http://mirror.example/debian-security/",
        "Debian contrib http://mirror.example/debian/",
        "Debian main http://mirror.example/debian/",
    ]
    assert find_mirror(lines) == "http://mirror.example/debian/"
    assert find_mirror(lines[:3]) is None
