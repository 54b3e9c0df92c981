"""Runs one of an experiment's pipelines on a cluster: compile, submit or adopt, wait, report.

A run has a name that says what it makes. Before a run is submitted, one of that name that is
still active is looked for and adopted, so a driver that was killed never starts a second one.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.state import latest_iteration
from components.storage import open_store
from pipelines.api import Api, Run
from pipelines.display import Display, duration
from pipelines.driver import verdict
from pipelines.faults import LOOK_S, WaitingPods, fault
from pipelines.profile import Profile
from pipelines.refusals import ApiError, ApiUnavailable
from pipelines.runner import RUNS, RunStopped, StepFailed

POLL_S = 5.0
"""At most, between two looks at a run; young runs are looked at more often."""
SLOW_START_S = 600.0
"""After which a run without a started task is worth a word."""
PATIENCE_S = 900.0
"""How long an API that stopped answering is waited for."""


@dataclass
class ClusterRunner:
    """Runs pipelines of one training run on a cluster, one at a time."""

    config: ExperimentConfig
    run: str
    profile: Profile
    api: Api
    experiment: str
    """Kubeflow's word for a group of runs."""
    display: Display
    folder: Path = RUNS
    terminate: bool = False
    """Whether an interrupted wait ends the run on the cluster too."""
    poll_s: float = POLL_S
    slow_start_s: float = SLOW_START_S
    look_s: float = LOOK_S
    patience_s: float = PATIENCE_S
    _packages: dict[str, Path] = field(default_factory=dict)

    def __call__(self, pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        """Run a pipeline to its end. StepFailed if it fails, RunStopped if somebody stopped it."""
        try:
            run = self._wait(self.begin(pipeline, iteration, arguments))
        except KeyboardInterrupt:
            self._interrupted(pipeline, iteration, arguments)
            raise
        self._judge(run, pipeline, iteration)

    def begin(self, pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> Run:
        """Submit a run, or adopt the active one that does the same."""
        name = run_label(self.run, pipeline, iteration)
        parameters = {"run": self.run, **arguments}
        run = self._patiently(lambda: self._submitted(name, pipeline, parameters))
        self.display.say(f"{name}: {self.api.link(run.id)}")
        return run

    def _submitted(self, name: str, pipeline: str, parameters: Mapping[str, Any]) -> Run:
        """The oldest active run of that name and content, which may be the one just made here:
        of two drivers that submit at the same time, the later withdraws."""
        while self._same(name, parameters, canceling=True):
            self.display.notice(f"{name}: a terminated run of it is still ending, waiting")
            time.sleep(self.poll_s)
        if found := self._same(name, parameters):
            self.display.say(f"{name}: already active on the cluster, adopted")
            return found[0]
        package = self._package(pipeline)
        note = f"Rolewise: results in {self.config.storage.uri} under {self.run}"
        experiment = self.api.experiment(self.experiment)
        account = self.profile.service_account
        made = self.api.create(experiment, name, package, parameters, note, account)
        oldest = (self._same(name, parameters) or [made])[0]
        if oldest.id != made.id:
            self.api.terminate(made.id)
            self.display.say(f"{name}: submitted twice at the same time, the later one withdrawn")
        return oldest

    def _same(self, name: str, parameters: Mapping[str, Any], canceling: bool = False) -> list[Run]:
        store = self.config.storage.uri
        runs = [run for run in self.api.active(name) if does_same(run, parameters, store)]
        return [run for run in runs if (run.state == "CANCELING") == canceling]

    def _package(self, pipeline: str) -> Path:
        """The compiled pipeline's file."""
        if pipeline not in self._packages:
            from pipelines.compiling import compile

            path = self.folder / self.run / "cluster" / f"{pipeline}.yaml"
            compile(self.config, self.profile, path, pipeline)
            self._packages[pipeline] = path
        return self._packages[pipeline]

    def _wait(self, run: Run) -> Run:
        """Until the run has ended; its tasks are shown as they start."""
        seen: set[str] = set()
        waiting = WaitingPods(self.api, run.id, self._say_of(run), self.look_s)
        began, run_id, stopped = time.monotonic(), run.id, False
        while True:
            run = self._patiently(lambda: self.api.get(run_id))
            stopped = stopped or run.stopped
            self._show(run, seen)
            if run.ended:
                return replace(run, stopped=stopped)
            waiting.look()
            waited_s = time.monotonic() - began
            if not seen and waited_s > self.slow_start_s:
                self.display.notice(
                    f"{run.name}: no task has started for {duration(self.slow_start_s)}; are there "
                    f"nodes, quota and images for the profile? {self.api.link(run_id)}"
                )
            time.sleep(min(self.poll_s, 0.2 + 0.1 * waited_s))

    def _say_of(self, run: Run) -> Callable[[str], None]:
        link = self.api.link(run.id)
        return lambda words: self.display.say(f"{run.name}: {words} ({link})")

    def _show(self, run: Run, seen: set[str]) -> None:
        """The tasks that started since the last look, without Kubeflow's own."""
        for task in run.tasks:
            own = task.name in ("root", "executor") or task.name.endswith("-driver")
            if task.state == "RUNNING" and task.name not in seen and not own:
                seen.add(task.name)
                self.display.step_started(task.name)

    def _judge(self, run: Run, pipeline: str, iteration: int) -> None:
        """Nothing, if the run did what it was for."""
        link = self.api.link(run.id)
        if run.stopped and run.state != "SUCCEEDED":
            raise RunStopped(
                f"error: {run.name}: was terminated on the cluster ({link}); "
                "the same command submits it again"
            )
        if run.state != "SUCCEEDED":
            raise StepFailed(f"error: {run.name}: {run.state}: {fault(self.api, run)} ({link})")
        if not self._is_done(pipeline, iteration):
            raise StepFailed(
                f"error: {run.name}: SUCCEEDED ({link}), but its result is not in "
                f"{self.config.storage.uri}; do driver and pods see the same storage?"
            )

    def _is_done(self, pipeline: str, iteration: int) -> bool:
        store = open_store(self.config.storage)
        if pipeline == "promotion":
            return verdict(store, self.run, iteration) is not None
        latest = latest_iteration(store, self.run)
        return latest is not None and latest >= iteration

    def _interrupted(self, pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        """Say what becomes of the active run, or end it. It is looked up: the interrupt may have
        come between the submission and its answer."""
        name = run_label(self.run, pipeline, iteration)
        try:
            for run in self._same(name, {"run": self.run, **arguments}):
                link = self.api.link(run.id)
                if self.terminate:
                    self.api.terminate(run.id)
                    self.display.say(f"{name}: terminated: {link}")
                else:
                    self.display.say(
                        f"{name} goes on on the cluster: {link}; the same command waits for it "
                        "again, the UI can terminate it"
                    )
        except ApiError as error:
            self.display.say(f"{name} may go on on the cluster: {error}")

    def _patiently(self, call: Callable[[], Run]) -> Run:
        """Repeat a call while the API does not answer, for `patience_s`."""
        end, pause_s = time.monotonic() + self.patience_s, self.poll_s
        while True:
            try:
                return call()
            except ApiUnavailable as error:
                if time.monotonic() + pause_s > end:
                    raise
                self.display.notice(f"{error}; asking again for {duration(self.patience_s)}")
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, 60.0)


def run_label(run: str, pipeline: str, iteration: int) -> str:
    """The name of a run on the cluster: what it makes, the same for every attempt."""
    return f"{run}-{pipeline}" + (f"-{iteration:06d}" if pipeline != "preparation" else "")


def does_same(run: Run, parameters: Mapping[str, Any], store: str) -> bool:
    """Whether a run makes the same iteration of the same run, in the same store."""
    for name in ("run", "iteration"):
        if run.parameters.get(name) != parameters.get(name):
            return False
    baked = _baked_store(run.spec)
    return baked in (None, store)


def _baked_store(spec: Mapping[str, Any]) -> str | None:
    """storage.uri of the configuration in a PipelineSpec; None if there is none to be seen."""
    tasks = spec.get("root", {}).get("dag", {}).get("tasks", {})
    for task in tasks.values():
        config = task.get("inputs", {}).get("parameters", {}).get("config", {})
        text = config.get("runtimeValue", {}).get("constant")
        if text:
            return str(json.loads(text).get("storage", {}).get("uri"))
    return None
