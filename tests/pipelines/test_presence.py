"""Who drives a run here: found, refused a second time, stopped, and never mistaken for another."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from components.errors import ConfigError
from pipelines.presence import FILE, Driver, announced, last_driver, open_process, stop_process
from pipelines.runner import RUNS, StepFailed

ROOT = Path(__file__).parents[2]
DRIVES = """
import sys, time
from pipelines.presence import announced
with announced("r", "file://s", 3):
    print("driving", flush=True)
    {act}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@contextmanager
def driving(act: str = "time.sleep(60)") -> Iterator["subprocess.Popen[str]"]:
    """Another process that drives run `r`."""
    command = [sys.executable, "-c", DRIVES.format(act=act)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None and child.stdout.readline() == "driving\n"
        try:
            yield child
        finally:
            child.kill()


def known() -> Driver:
    driver = last_driver("r")
    assert driver is not None
    return driver


def write(driver: Driver) -> None:
    (RUNS / "r" / FILE).write_text(json.dumps(asdict(driver)))


def test_a_driver_is_found_and_keeps_others_off() -> None:
    with driving() as child:
        assert known().alive and known().pid == child.pid and known().iterations == 3
        words = f"run 'r' is being driven by process {child.pid} .*`python -m pipelines stop r`"
        with pytest.raises(ConfigError, match=words), announced("r", "file://s", 3):
            pass
        assert known().alive and known().outcome == ""


def test_a_killed_driver_is_gone_and_another_may_begin() -> None:
    with driving() as child:
        child.kill()
        child.wait()
        assert not known().alive and known().outcome == ""
        with announced("r", "file://s", 5):
            assert known().alive and known().iterations == 5
    assert (known().outcome, known().alive) == ("finished", False)


def test_a_zombie_drives_nothing() -> None:
    with driving() as child:
        child.send_signal(signal.SIGKILL)
        end = time.monotonic() + 10
        while known().alive:
            assert time.monotonic() < end
        assert child.poll() is not None


@pytest.mark.parametrize(
    ("error", "outcome", "message"),
    [
        (StepFailed("error: update (run r, iteration 2): no luck"), "failed", "update (run r, it"),
        (KeyboardInterrupt(), "interrupted", ""),
        (ValueError("odd"), "failed", "ValueError: odd"),
    ],
)
def test_how_it_ended_is_kept(error: BaseException, outcome: str, message: str) -> None:
    with pytest.raises(type(error)), announced("r", "file://s", 3):
        raise error
    assert known().outcome == outcome and known().message.startswith(message)


def test_a_stranger_with_the_drivers_number_is_not_touched() -> None:
    with driving() as child:
        for other in (
            replace(known(), started=known().started - 1),
            replace(known(), boot="another boot"),
            replace(known(), host="elsewhere"),
            replace(known(), namespace="pid:[1]"),
        ):
            write(other)
            assert open_process(known()) is None and not known().alive
            assert stop_process(known(), 0.0)
        time.sleep(0.1)
        assert child.poll() is None


def test_stop_waits_for_the_end() -> None:
    with driving() as child:
        assert stop_process(known(), 10.0)
        assert child.wait() == -signal.SIGTERM


def test_stop_says_if_it_goes_on() -> None:
    ignores = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('deaf', flush=True); time.sleep(60)"
    )
    with driving(ignores) as child:
        assert child.stdout is not None and child.stdout.readline() == "deaf\n"
        assert not stop_process(known(), 0.2)
        assert child.poll() is None


def test_a_damaged_file_is_nobody(tmp_path: Path) -> None:
    path = RUNS / "r" / FILE
    path.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"pid": 1}'):
        path.write_text(text)
        assert last_driver("r") is None
    with announced("r", "file://s", 1):
        whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | {"pid": "1"}))
    assert last_driver("r") is None
    assert last_driver("none") is None


def test_after_something_beside_the_iterations_the_word_before_holds_again() -> None:
    with pytest.raises(KeyboardInterrupt), announced("r", "file://s", 5):
        raise KeyboardInterrupt
    before = known()
    with announced("r", "file://s", 7, passing=True):
        assert known().alive and known() != before
    assert known() == before
    with pytest.raises(ValueError, match="no"), announced("r", "file://s", 7, passing=True):
        raise ValueError("no")
    assert (known().outcome, known().message) == ("failed", "ValueError: no")
    with announced("r", "file://s", 7, passing=True):  # the same again: it is no longer failed
        pass
    assert known().outcome == "finished"
