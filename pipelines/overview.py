"""What is known of runs: how far they are, who drives them, what they reached, and when.

Results come from the store. Whether somebody drives a run is known of this machine alone
(`presence.py`); a run without a word of its driver is `unknown`: it may be driven elsewhere.
"""

import time
from dataclasses import dataclass
from typing import Literal

from components.aligned import aligned
from components.config import OPEN_ENDED
from components.errors import RolewiseError
from components.manifests import committed
from components.reporting.summary import Found, IterationRow, make_row
from components.reporting.table import MISSING, percent
from components.settings import StorageConfig
from components.state import latest_iteration
from components.storage import Store
from pipelines.display import duration
from pipelines.driver import verdict
from pipelines.finding import FoundRun, find_run, is_file, read_config, run_names
from pipelines.presence import Driver, last_driver

State = Literal["running", "finished", "failed", "stopped", "unknown"]
LOOK_BACK = 20
"""Iterations in which the last evaluation is looked for."""


@dataclass(frozen=True)
class RunState:
    """One run, as far as it can be known from here."""

    name: str
    iteration: int | None
    """The last that is committed; None: not even the start."""
    total: int
    state: State
    said: str
    """Why, or by whom; empty if there is nothing to say."""
    committed_unix_s: float | None
    """When the last iteration was."""

    @property
    def progress(self) -> str:
        """`3/8`; `3` of a run whose end is not a number of iterations."""
        made = MISSING if self.iteration is None else str(self.iteration)
        return made if self.total == OPEN_ENDED else f"{made}/{self.total}"


def open_run(text: str, store: str | None) -> FoundRun:
    """The run of that name or file; for a name, in the store of its last driver here."""
    driver = None if store or is_file(text) else last_driver(text)
    return find_run(text, driver.store if driver else store)


def state_of(found: FoundRun) -> RunState:
    """How far a run is, and whether it goes on."""
    latest = latest_iteration(found.store, found.name)
    driver, overtaken = _word_of_driver(found, latest or 0)
    total = max(driver.iterations if driver else found.config.iterations, latest or 0)
    last = latest is not None and total in (latest, OPEN_ENDED)
    closed = last and verdict(found.store, found.name, latest or 0) is not None
    state, said = _state(driver, closed, overtaken)
    steps = [] if latest is None else committed(found.store, found.name, latest)
    when = max((manifest.finished_unix_s for _, manifest in steps), default=None)
    return RunState(found.name, latest, total, state, said, when)


def _word_of_driver(found: FoundRun, latest: int) -> tuple[Driver | None, str]:
    """The run's driver here if what it left still holds, else None; and why it does not."""
    driver = last_driver(found.name)
    if driver is None or driver.store.rstrip("/") != found.store.uri:
        return None, ""  # of a run of the same name in another store
    if driver.outcome == "finished" and latest > driver.iterations:
        return None, f"its driver here ended at iteration {driver.iterations}, others went on"
    return driver, ""


def rows_of(found: FoundRun, latest: int, first: int) -> list[IterationRow]:
    """The rows of the iterations `first` to `latest`."""
    steps: dict[int, Found] = {
        iteration: committed(found.store, found.name, iteration)
        for iteration in range(first, latest + 2)
    }
    return [make_row(i, steps[i], steps[i + 1]) for i in range(first, latest + 1)]


def last_success(found: FoundRun, latest: int | None) -> IterationRow | None:
    """The last team that was evaluated."""
    following: Found = committed(found.store, found.name, (latest or 0) + 1)
    for iteration in range(latest or 0, max(-1, (latest or 0) - LOOK_BACK), -1):
        own = committed(found.store, found.name, iteration)
        row = make_row(iteration, own, following)
        if row.success is not None:
            return row
        following = own
    return None


def table_of(store: Store, storage: StorageConfig) -> str:
    """All runs of a store, the last committed first."""
    known = [_line(store, storage, name) for name in run_names(store)]
    lines = [cells for _, cells in sorted(known, key=lambda item: -item[0])]
    if not lines:
        return f"{store.uri} holds no run"
    head = ["iteration", "state", "success", "committed", "run"]
    return "\n".join(aligned([head, *lines], left={-1}))


def ago(unix_s: float | None) -> str:
    """`3 min 05 s ago`."""
    return MISSING if unix_s is None else f"{duration(max(0.0, time.time() - unix_s))} ago"


def _line(store: Store, storage: StorageConfig, name: str) -> tuple[float, list[str]]:
    """When a run was last committed, and its cells."""
    try:
        found = FoundRun(name, read_config(store, name, storage), store)
        state, row = state_of(found), last_success(found, latest_iteration(store, name))
    except RolewiseError as error:  # one run must not hide the others
        return 0.0, [MISSING, "unreadable", MISSING, MISSING, f"{name}: {error}"]
    success = f"{percent(row.success)} ({row.iteration})" if row else MISSING
    when = state.committed_unix_s
    return when or 0.0, [state.progress, state.state, success, ago(when), name]


def _state(driver: Driver | None, closed: bool, overtaken: str) -> tuple[State, str]:
    if driver is not None and driver.alive:
        return "running", f"process {driver.pid} on this machine, {ago(driver.began_unix_s)}"
    if closed:
        return "finished", ""
    if driver is None:
        why = overtaken or "no driver of it is known on this machine"
        return "unknown", f"{why}; --endpoint asks a cluster"
    if driver.outcome == "failed":
        return "failed", f"{ago(driver.ended_unix_s)}: {driver.message}"
    if driver.outcome == "finished":  # of its pipelines; some are left since
        return "stopped", f"its driver ended {ago(driver.ended_unix_s)}"
    if driver.outcome == "interrupted":
        return "stopped", f"interrupted {ago(driver.ended_unix_s)}"
    if driver.elsewhere:
        return "unknown", f"begun on {driver.host}, which cannot be seen from here"
    return "stopped", "its driver was killed, or the machine went down"
