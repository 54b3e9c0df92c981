"""Waiting for a TrainJob: until it ends, its time is over, or the step is stopped.

Shows how far it is and says why it failed. Creates and deletes nothing.
"""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from components.errors import RolewiseError, StorageError
from components.progress import parse_progress, progress
from components.update.nodes.jobs import ClusterAway, Outcome, TrainJobs, outcome
from components.update.nodes.order import Desk

POLL_S = 5.0
SLOW_START_S = 600.0
"""After which a job without a running node is worth a word."""
PATIENCE_S = 900.0
"""How long an API that stopped answering is waited for."""


@dataclass
class Follower:
    """Follows one TrainJob of one attempt."""

    jobs: TrainJobs
    desk: Desk
    name: str
    attempt: str
    num_nodes: int
    timeout_s: float
    poll_s: float = POLL_S
    patience_s: float = PATIENCE_S
    slow_start_s: float = SLOW_START_S
    _shown: str = ""
    _running: int = 0
    _began: float = field(default_factory=time.monotonic)

    def wait(self) -> None:
        """Return when the job is Complete. RolewiseError says why it failed or never ended."""
        warned = False
        while True:
            found = self._look()
            if found.state == "Failed":
                raise RolewiseError(f"TrainJob {self.name} failed: {self._why(found)}")
            if found.state == "Complete":
                return
            self._show(found)
            waited_s = time.monotonic() - self._began
            if waited_s > self.timeout_s:
                raise RolewiseError(self._over(found))
            if not warned and not self._running and waited_s > self.slow_start_s:
                warned = True
                print(f"update: no node of TrainJob {self.name} runs yet: {self._obstacle(found)}",
                      file=sys.stderr, flush=True)  # fmt: skip
            time.sleep(min(self.poll_s, 0.2 + 0.1 * waited_s))

    def _look(self) -> Outcome:
        """The job's state; an API that is away is asked again for a while."""
        job = patiently(lambda: self.jobs.get(self.name), self.patience_s, self.poll_s)
        if job is None:
            raise RolewiseError(f"TrainJob {self.name} was deleted by somebody while it ran")
        return outcome(job)

    def _show(self, found: Outcome) -> None:
        """New progress of rank 0, else how many nodes run."""
        line = ""
        with suppress(StorageError):  # the next look may find it
            line = self.desk.progress(self.attempt) or ""
        if line and line != self._shown:
            self._shown = line
            if told := parse_progress(line):
                progress(told.step, told.done, told.total, told.unit, **told.rates)
        if self._running < self.num_nodes:
            running = self.num_nodes if line else self.jobs.num_running(self.name) or 0
            if running > self._running:
                progress("update-nodes", running, self.num_nodes, "nodes")
            self._running = max(running, self._running)

    def _why(self, found: Outcome) -> str:
        """The first node's own words, else what the cluster knows."""
        told = (
            self.desk.fault(self.attempt)
            or self.jobs.words_of_pods(self.name)
            or self.jobs.words_of_events(self.name)
        )
        return f"{told} ({found.words})" if told else found.words

    def _over(self, found: Outcome) -> str:
        text = f"TrainJob {self.name} did not end within {self.timeout_s:.0f} s, the profile's "
        text += "timeout_s of the step update"
        return text if self._running else f"{text}; no node ever ran: {self._obstacle(found)}"

    def _obstacle(self, found: Outcome) -> str:
        if found.state == "Suspended":
            return f"it is suspended, in a queue? ({found.words})"
        known = self.jobs.words_of_events(self.name)
        return known or "are there nodes, quota and images for the profile?"


def patiently(call: Callable[[], Any], patience_s: float, pause_s: float) -> Any:
    """Repeat a call while the API is away."""
    end = time.monotonic() + patience_s
    while True:
        try:
            return call()
        except ClusterAway:
            if time.monotonic() + pause_s > end:
                raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 60.0)
