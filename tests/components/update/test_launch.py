"""Jobs side by side in forks: a stop ends them all, and one that dies is named."""

import os
import signal
import threading
import time
from multiprocessing import active_children
from typing import Any

import pytest

from components.errors import RolewiseError
from components.update import launch, process


class Named:
    """As much of a job as is looked at before it runs."""

    base = None

    def __init__(self, policy: str) -> None:
        self.policy = policy


def train(job: Named) -> None:
    """For a minute, unless it is the job that dies."""
    if job.policy == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@pytest.fixture(autouse=True)
def _no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "import_libraries", lambda num_processes: None)
    monkeypatch.setattr(process, "run_job", train)


def run(*policies: str) -> None:
    jobs: Any = [Named(policy) for policy in policies]
    launch._side_by_side(jobs, len(jobs))


def test_a_stop_does_not_wait_for_the_training() -> None:
    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    began = time.monotonic()
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGTERM)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run("tool", "planner")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert time.monotonic() - began < 30
    assert active_children() == []


def test_a_process_that_dies_is_named_and_takes_the_others_along() -> None:
    began = time.monotonic()
    with pytest.raises(RolewiseError, match="policy (dies|tool): its training process was killed"):
        run("dies", "tool")
    assert time.monotonic() - began < 30
    assert active_children() == []
