"""The child process of kfp's runner: its environment, its faults, and that nothing outlives it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from kfp import dsl

from pipelines.local import child_environment, run_local
from tests.pipelines.toy import compiled

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@dsl.component(base_image="python:toy", install_kfp_package=False)
def breaks() -> None:
    """Fail as our steps do."""
    import sys

    print("progress step=breaks done=1 total=2 unit=things", flush=True)
    print("error: breaks (run r, iteration 1): no luck", file=sys.stderr, flush=True)
    raise RuntimeError("no luck")


@dsl.component(base_image="python:toy", install_kfp_package=False)
def sleeps(target: str) -> None:
    """Say who this is, then do nothing for long."""
    import os
    import time

    with open(target + ".part", "w") as out:
        out.write(str(os.getpid()))
    os.rename(target + ".part", target)
    time.sleep(600)


@dsl.pipeline(name="broken")
def broken() -> None:
    """One step that fails."""
    breaks()


@dsl.pipeline(name="sleepy")
def sleepy(target: str) -> None:
    """One step that takes long."""
    sleeps(target=target)


def test_failure_is_an_exit_code_and_its_lines_arrive(tmp_path: Path) -> None:
    lines: list[str] = []
    assert run_local(compiled(broken)[0], {}, tmp_path, lines.append) == 1
    stripped = [line.strip() for line in lines]
    assert "progress step=breaks done=1 total=2 unit=things" in stripped
    assert "error: breaks (run r, iteration 1): no luck" in stripped


def test_steps_find_our_code_and_have_one_thread() -> None:
    environment = child_environment({"PYTHONPATH": "/elsewhere"})
    assert environment["PYTHONPATH"].split(os.pathsep) == [os.getcwd(), "/elsewhere"]
    assert environment["OMP_NUM_THREADS"] == "1"
    assert child_environment({"OMP_NUM_THREADS": "4"})["OMP_NUM_THREADS"] == "4"


def test_an_interrupt_ends_the_steps(tmp_path: Path) -> None:
    target = tmp_path / "pid"
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, 3.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_local(compiled(sleepy)[0], {"target": str(target)}, tmp_path, print)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert is_gone(int(target.read_text()))


def test_steps_end_with_a_killed_parent(tmp_path: Path) -> None:
    target, spec = tmp_path / "pid", compiled(sleepy)[0]
    code = (
        "from pathlib import Path\nfrom pipelines.local import run_local\n"
        f"arguments = {{'target': {str(target)!r}}}\n"
        f"run_local(Path({str(spec)!r}), arguments, Path({str(tmp_path)!r}), print)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    wait_for(target.exists)
    step = int(target.read_text())
    parent.kill()
    parent.wait()
    wait_for(lambda: is_gone(step))


def is_gone(pid: int) -> bool:
    """Whether the process ended (a zombie has)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Until `condition()` holds; fails after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
