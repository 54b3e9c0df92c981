"""Trains the arms of a study, each in a process of its own, several side by side.

All that is done is in the store, so the same command goes on after any stop. An arm's process
generates until its budget is spent, then evaluates once.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from components.config import ExperimentConfig
from components.errors import ConfigError, RolewiseError
from components.manifests import merged_metrics, read_manifest
from components.state import latest_iteration, register_run
from components.storage import Store, open_store
from pipelines.display import Display, duration
from pipelines.driver import verdict
from pipelines.presence import announced, check_free
from pipelines.runner import Runner
from pipelines.study.code import note_code
from pipelines.study.plan import Study, references

STUDIES = Path("build/studies")
POLL_S = 2.0
TELL_S = 60.0
"""Between two lines about how far the running arms are."""
Job = tuple[str, int]
"""Arm and seed."""


class ArmsFailed(RolewiseError):
    """Some arms of a study did not come to their end."""


def jobs_of(study: Study, arms: Sequence[str] = (), seeds: Sequence[int] = ()) -> list[Job]:
    """What to train, starts before those that need them; `arms` with all that they need."""
    wanted: list[str] = []

    def add(arm: str) -> None:
        for other in references(study.plan.arms[arm].set):
            add(other)
        if arm not in wanted:
            wanted.append(arm)

    for arm in arms or study.plan.arms:
        add(arm)
    return [(arm, seed) for seed in seeds or study.plan.seeds for arm in wanted]


def run_arm(study: Study, job: Job, out: TextIO, command: str = "") -> None:
    """Train one arm with one seed in this process, or go on with it. StepFailed as in `run`;
    ConfigError if another process of this machine does. `command` goes on with it."""
    config = bind(study, store_of(study), job)
    run = study.run_name(*job)
    with announced(run, config.storage.uri, config.iterations, command=command):
        _train(study, job, config, out)


def _train(study: Study, job: Job, config: ExperimentConfig, out: TextIO) -> None:
    arm, run, store = job[0], study.run_name(*job), store_of(study)
    display = Display(out, config.iterations)
    start = Runner(config, run, "inprocess", display)
    begun = latest_iteration(store, run) is not None
    note_code(store, run, begun)
    if not begun:
        display.begin("preparation", 0)
        start("preparation", 0, {})
    while (spent := candidates(store, run)) < study.budget(arm):
        iteration = (latest_iteration(store, run) or 0) + 1
        display.begin(f"iteration {iteration}, {spent:,} of {study.budget(arm):,} candidates", 0)
        start("iteration", iteration, {"iteration": iteration, "promote": False})
    if study.plan.arms[arm].shown and not is_closed(store, run):
        latest = latest_iteration(store, run) or 0
        display.begin("evaluation", 0)
        start("promotion", latest, {"iteration": latest})


def last_iterations(study: Study, job: Job) -> dict[str, int]:
    """Arm -> last iteration, of the arms that this one starts from."""
    arm, seed = job
    found = {}
    for other in references(study.plan.arms[arm].set):
        latest = latest_iteration(store_of(study), study.run_name(other, seed))
        if latest is None:
            raise ArmsFailed(f"arm {arm}: its start, arm {other} of seed {seed}, is not there yet")
        found[other] = latest
    return found


def store_of(study: Study) -> Store:
    """Where the study's runs are."""
    return open_store(study.storage)


def candidates(store: Store, run: str) -> int:
    """Generated so far in training."""
    latest = latest_iteration(store, run) or 0
    return sum(generated(store, run, iteration) for iteration in range(1, latest + 1))


def generated(store: Store, run: str, iteration: int) -> int:
    """Candidates of one iteration, of all roles."""
    manifests = read_manifest(store, run, iteration).values()
    return count(merged_metrics(item.metrics for item in manifests), "num_candidates")


def count(metrics: Mapping[str, float], what: str) -> int:
    """`rollout/<role>/<what>` of all roles together."""
    form = re.compile(rf"rollout/[^/]+/{what}")
    return round(sum(value for name, value in metrics.items() if form.fullmatch(name)))


def is_closed(store: Store, run: str) -> bool:
    """Whether the run's last team was evaluated."""
    latest = latest_iteration(store, run)
    return latest is not None and verdict(store, run, latest) is not None


def bind(study: Study, store: Store, job: Job) -> ExperimentConfig:
    """The configuration of an arm and seed, to which its run's name is bound from now on."""
    arm, seed = job
    config = study.config(arm, seed, last_iterations(study, job))
    try:
        register_run(store, study.run_name(arm, seed), config)
    except ConfigError as error:
        raise ConfigError(f"arm {arm}: {error}; another `name` gives the study new runs") from error
    return config


def is_done(study: Study, store: Store, job: Job) -> bool:
    """Whether there is nothing left to do for an arm and seed.

    ConfigError if the run was begun with other settings, or has gone on past the budget: its
    results would be another arm's.
    """
    arm, run = job[0], study.run_name(*job)
    if latest_iteration(store, run) is None:
        return False
    bind(study, store, job)
    if (spent := candidates(store, run)) < study.budget(arm):
        return False
    latest = latest_iteration(store, run) or 0
    if latest and spent - generated(store, run, latest) >= study.budget(arm):
        raise ConfigError(
            f"arm {arm}: run {run} went on past its budget of {study.budget(arm):,} answers, to "
            f"{spent:,}: it was another budget's; another `name` gives the study new runs"
        )
    return not study.plan.arms[arm].shown or is_closed(store, run)


@dataclass
class Scheduler:
    """Starts the processes of a study's jobs, so many at a time."""

    study: Study
    command: Sequence[str]
    """`python -m pipelines study FILE ...`, to which arm, seed and their digest are added."""
    num_jobs: int
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    _running: dict[Job, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    _began: dict[Job, float] = field(default_factory=dict)
    _failed: list[Job] = field(default_factory=list)

    def run(self, jobs: Sequence[Job]) -> None:
        """Run all jobs that are not done. ArmsFailed at the end, with where their logs are;
        ConfigError before, if another process of this machine is at one of them."""
        store = store_of(self.study)
        waiting = [job for job in jobs if not is_done(self.study, store, job)]
        for job in waiting:
            check_free(self.study.run_name(*job))
        total, began = len(waiting), time.monotonic()
        told = began
        if len(jobs) > total:
            self.say(f"{len(jobs) - total} of {len(jobs)} runs are done already")
        try:
            while waiting or self._running:
                self._start_some(waiting)
                self._collect(total, began)
                if self._running and time.monotonic() - told >= TELL_S:
                    told = time.monotonic()
                    self.say(f"  {', '.join(self._stands(store, job) for job in self._running)}")
        finally:
            self._end_all()
        if self._failed:
            logs = ", ".join(str(log_path(self.study, job)) for job in self._failed)
            raise ArmsFailed(f"{len(self._failed)} of {total} runs failed; see {logs}")

    def _start_some(self, waiting: list[Job]) -> None:
        for job in list(waiting):
            needs = {(arm, job[1]) for arm in references(self.study.plan.arms[job[0]].set)}
            if needs & set(self._failed):
                waiting.remove(job)
                self._failed.append(job)
            elif len(self._running) < self.num_jobs and not needs & {*waiting, *self._running}:
                waiting.remove(job)
                self._start(job)

    def _start(self, job: Job) -> None:
        path, digest = log_path(self.study, job), self.study.digest(*job)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            self._running[job] = subprocess.Popen(
                [sys.executable, *self.command, "--one", job[0], str(job[1]), digest],
                stdout=log, stderr=log, stdin=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        self._began[job] = time.monotonic()

    def _collect(self, total: int, began: float) -> None:
        self.sleep(POLL_S)
        for job, process in list(self._running.items()):
            if process.poll() is None:
                continue
            _close(process)
            del self._running[job]
            name, spent = self.study.run_name(*job), duration(time.monotonic() - self._began[job])
            if process.returncode:
                self._failed.append(job)
                self.say(f"{name}: failed after {spent}; see {log_path(self.study, job)}")
                continue
            ended = len(self._began) - len(self._running)
            left = (time.monotonic() - began) / ended * (total - ended)
            rest = f", about {duration(left)} left" if total > ended else ""
            self.say(f"[{ended}/{total}] {name}: done in {spent}{rest}")

    def _stands(self, store: Store, job: Job) -> str:
        """How far a run is, as one that is begun can be."""
        arm, run = job[0], self.study.run_name(*job)
        if latest_iteration(store, run) is None:
            return f"{arm}-s{job[1]} starts{_progress(log_path(self.study, job))}"
        budget = self.study.budget(arm)
        spent = f"{candidates(store, run):,} of {budget:,} candidates" if budget else "evaluates"
        return f"{arm}-s{job[1]} {spent}"

    def _end_all(self) -> None:
        """Interrupt what still runs; each is a process group of its own."""
        for process in self._running.values():
            with _gone():
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._running.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                with _gone():
                    os.killpg(process.pid, signal.SIGKILL)
            _close(process)


def end_with_parent() -> None:
    """In an arm's process: stop it and all that it started when its scheduler is gone, killed or
    not; the scheduler holds the other end of our standard input."""

    def watch() -> None:
        while os.read(0, 1):  # not by sys.stdin, whose lock the interpreter's end would wait for
            pass
        os.killpg(os.getpgid(0), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _close(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.close()


def _progress(log: Path) -> str:
    """`: warm_start-tool 582/600 steps, 5,498 tokens/s` from the last line of an arm's log."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    parts = lines[-1].split(" | ") if lines else []
    return f": {parts[1]}" if len(parts) > 1 else ""


def _gone() -> contextlib.AbstractContextManager[None]:
    return contextlib.suppress(ProcessLookupError)


def log_path(study: Study, job: Job) -> Path:
    """Where an arm's process writes what it prints."""
    return STUDIES / study.plan.name / f"{job[0]}-s{job[1]}.log"
