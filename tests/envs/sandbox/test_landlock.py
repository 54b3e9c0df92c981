"""Rulesets as older kernels take them: each must be accepted, and hold."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envs.sandbox.inside import kernel, landlock

try:
    NEWEST = landlock.abi()
except OSError:
    NEWEST = 0


@pytest.mark.parametrize("version", range(1, 8))
def test_every_version(version: int, tmp_path: Path) -> None:
    if version > NEWEST:
        pytest.skip(f"this kernel's Landlock has version {NEWEST}")
    for name in ("scratch", "library", "secrets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(sink, " ".join(look(version, tmp_path)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(sink)
    with os.fdopen(source) as said:
        assert said.read().split() == ["write", "read", "list", "remove", "device"]


def look(version: int, folder: Path) -> list[str]:
    """What works, in a process that is locked in."""
    os.chdir(folder)
    allowed = landlock.allow(["library"], [os.fspath(folder)], ["/dev/null"], version)
    ruleset = landlock.make_ruleset(allowed, "scratch")
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(ruleset)
    attempts: dict[str, Callable[[], object]] = {
        "read-secrets": Path("secrets/file").read_text,
        "write": lambda: Path("scratch/new").write_text("x"),
        "read": Path("library/file").read_text,
        "list": lambda: os.listdir("secrets"),
        "write-library": lambda: Path("library/file").write_text("x"),
        "remove": Path("scratch/new").unlink,
        "remove-library": Path("library/file").unlink,
        "device": lambda: Path("/dev/null").write_text("x"),
        "list-devices": lambda: os.listdir("/dev"),
        "folder": Path("scratch/folder").mkdir,
        "link": lambda: Path("scratch/link").symlink_to("/"),
        "move-out": lambda: Path("scratch/file").rename("file"),
    }
    return [name for name, attempt in attempts.items() if works(attempt)]


def works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True
