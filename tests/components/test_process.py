"""A step's process: its start is counted only if it is the step's own, and its end is short."""

import gc
import subprocess
import sys
import time

import pytest

from components.process import is_own, make_exit_fast, peak_memory_mib, start_s, without_collector

STEP = """
import time; time.sleep(0.3); begun = time.process_time()
while time.process_time() < begun + 0.2: pass
from components.process import start_s
found = start_s()
print(found["start_s"], found["start_cpu_s"])
"""


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_KFP_RUNTIME", "true")


def test_the_start_of_a_step_process(own: None) -> None:
    begun = time.perf_counter()
    wall, cpu = (float(word) for word in run(STEP).split())
    passed = time.perf_counter() - begun
    assert 0.5 <= wall <= passed + 0.02
    assert 0.2 <= cpu <= wall


def test_a_process_of_several_steps_has_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("_KFP_RUNTIME", raising=False)
    assert not is_own() and start_s() == {}


def test_the_collector_rests_and_comes_back() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError), without_collector():
        with without_collector():
            pass
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_only_a_process_of_its_own_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("_KFP_RUNTIME", raising=False)
    gc.unfreeze()  # what other tests froze
    make_exit_fast()
    assert gc.get_freeze_count() == 0
    monkeypatch.setenv("_KFP_RUNTIME", "true")
    make_exit_fast()
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    assert frozen > 1000


def test_peak_memory_is_in_mib() -> None:
    before = peak_memory_mib()
    block = bytearray(64 * 2**20)
    assert 1 < before <= peak_memory_mib() < 100_000
    del block


def run(script: str) -> str:
    """What a fresh process prints."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
