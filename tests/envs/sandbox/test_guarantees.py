"""Kernels and containers that deny a layer: named, refused, accepted by name. Nothing is mocked."""

import json
from pathlib import Path

import pytest

from envs.sandbox import GUARANTEES
from tests.envs.sandbox.machine import MISSING
from tests.envs.sandbox.pretend import pretend

BY_FILTER = ["filesystem", "network", "processes", "signals", "kernel"]
LACKING = {"landlock": ["filesystem"], "seccomp,pod": BY_FILTER, "landlock,seccomp": BY_FILTER}
BOTH_LAYERS = pytest.mark.skipif(
    MISSING != (), reason=f"guarantees missing on this machine: {MISSING}"
)


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(text)
    return str(path)


@BOTH_LAYERS
def test_everything_holds_in_a_pod() -> None:
    done = pretend("pod,pidfd", "-m", "envs.sandbox")
    assert (done.returncode, done.stdout.count("holds"), done.stderr) == (0, len(GUARANTEES), "")


@BOTH_LAYERS
@pytest.mark.parametrize("world", LACKING)
def test_missing_guarantees_are_named(world: str) -> None:
    done = pretend(world, "-m", "envs.sandbox")
    named = [line.split()[1] for line in done.stdout.splitlines() if "MISSING" in line]
    assert (done.returncode, named) == (1, LACKING[world])
    assert ("the kernel offers no Landlock" in done.stdout) == ("landlock" in world)
    assert ("takes no seccomp filter" in done.stdout) == ("seccomp" in world)


@BOTH_LAYERS
def test_refused_unless_accepted_by_name(tmp_path: Path) -> None:
    look = program(tmp_path, "print(open(input()).read()[:4])\nimport os\nos.fork()")
    refused = pretend("landlock", "-m", "envs.sandbox", look, stdin="/etc/passwd")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("error: the sandbox cannot guarantee filesystem on this mach")
    assert refused.stderr.endswith('accept it by name: sandbox.accept_missing: ["filesystem"]\n')
    other = pretend("landlock", "-m", "envs.sandbox", look, "--accept", "network")
    assert (other.returncode, other.stderr.count('["network", "filesystem"]')) == (2, 1)
    accepted = pretend(
        "landlock", "-m", "envs.sandbox", look, "--accept", "filesystem", stdin="/etc/passwd"
    )
    assert accepted.stdout == "root\n"
    assert "PermissionError" in accepted.stderr  # fork: the other layer is still there


@BOTH_LAYERS
def test_a_machine_that_lost_its_layer_does_not_run_without_it(tmp_path: Path) -> None:
    """Accepting one guarantee does not switch off a layer that exists."""
    look = program(tmp_path, "print(open(input()).read()[:4])")
    accept = [word for name in BY_FILTER for word in ("--accept", name)]
    done = pretend("pod", "-m", "envs.sandbox", look, *accept, stdin="/etc/passwd")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Permission denied: '/etc/passwd'" in done.stderr


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for _ in range(2000):
            open({alive!r}, "a").write("x")
            time.sleep(0.01)
    os._exit(0)
while not os.path.exists({alive!r}):
    time.sleep(0.01)
"""


@BOTH_LAYERS
def test_survivors_are_ended_where_processes_can_be_started(tmp_path: Path) -> None:
    """Only the subreaper is left to stop them; it does."""
    alive = tmp_path / "alive"
    code = f"""
import json, sys, time
from envs.sandbox import *
sandbox = open_sandbox(SandboxOptions(accept_missing={BY_FILTER!r}))
result = sandbox.run(Run({DAEMON.format(alive=str(alive))!r}))
before = open({str(alive)!r}).read()
time.sleep(0.2)
print(json.dumps([result.outcome, before == open({str(alive)!r}).read()]))
"""
    done = pretend("landlock,seccomp", "-c", code)
    assert json.loads(done.stdout) == ["ok", True], done


@pytest.mark.full
@BOTH_LAYERS
@pytest.mark.parametrize("world", ["pod", *LACKING])
def test_the_cheat_suite_in_other_worlds(world: str) -> None:
    """What a world lacks is skipped by name; nothing else escapes."""
    done = pretend(
        world, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "test_escape",
        "tests/envs/sandbox/test_cheats.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    for name in LACKING.get(world, []):
        assert f"does not guarantee {name}: " in done.stdout
