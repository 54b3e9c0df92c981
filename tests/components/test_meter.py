"""Seconds by kind: they add up and never overlap."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from components.meter import Meter


def spin(cpu_s: float) -> None:
    """Use the CPU."""
    begun = time.process_time()
    while time.process_time() < begun + cpu_s:
        pass


def test_what_is_inside_is_taken_out_of_what_is_around() -> None:
    meter = Meter()
    with meter.measure("load"):
        spin(0.05)
        with meter.measure("storage"):
            time.sleep(0.2)
        with meter.measure("storage"):
            time.sleep(0.2)
    kinds, totals = meter.kinds(), meter.totals()
    assert set(kinds) == {"load_s", "load_cpu_s", "storage_s", "storage_cpu_s"}
    assert kinds["storage_s"] >= 0.4 > kinds["storage_cpu_s"]
    assert 0.05 <= kinds["load_cpu_s"] <= kinds["load_s"] + 0.02  # two clocks
    assert kinds["load_s"] + kinds["storage_s"] <= totals["wall_s"]
    assert totals["wall_s"] - kinds["storage_s"] - kinds["load_s"] < 0.1


def test_a_kind_is_booked_although_it_fails() -> None:
    meter = Meter()
    with pytest.raises(KeyError), meter.measure("load"), meter.measure("storage"):
        time.sleep(0.05)
        raise KeyError
    with meter.measure("tracking"):
        pass
    kinds = meter.kinds()
    assert kinds["storage_s"] >= 0.05 > kinds["load_s"]
    assert kinds["tracking_s"] < 0.05


def test_ended_children_count() -> None:
    meter = Meter()
    with meter.measure("load"):
        subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    assert meter.kinds()["load_cpu_s"] > 0.05
    assert meter.totals()["cpu_s"] >= meter.kinds()["load_cpu_s"]


def test_other_threads_are_not_measured() -> None:
    meter = Meter()

    def work() -> None:
        with meter.measure("storage"):
            time.sleep(0.05)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(work) for _ in range(2)]:
            future.result()
    assert meter.kinds() == {}
