"""A training run's runs on a cluster: which there are, how they stand, their logs, their end."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from components.errors import ConfigError
from components.state import latest_iteration
from pipelines.api import Api, Run
from pipelines.cluster import does_same, run_label
from pipelines.faults import fault, waits
from pipelines.finding import FoundRun
from pipelines.logbook import Say, is_step
from pipelines.refusals import ApiError
from pipelines.workflow import Pod, pods

POLL_S = 2.0


def runs_of(api: Api, found: FoundRun, iteration: int | None = None) -> list[Run]:
    """The cluster's runs of an iteration, oldest first; by default of what is made next, and of
    what was made last: every attempt."""
    latest = latest_iteration(found.store, found.name)
    if iteration is not None:
        wanted = [("iteration", iteration)] if iteration else [("preparation", 0)]
        wanted += [("promotion", iteration)]
    else:
        done = -1 if latest is None else latest
        made = [("iteration", done)] if done > 0 else [("preparation", 0)]
        wanted = [*made, ("promotion", max(done, 0)), ("iteration", done + 1)]
    labels = [(run_label(found.name, kind, number), number, kind) for kind, number in wanted]
    runs: list[Run] = []
    for label, number, kind in labels:
        parameters = {"run": found.name} | ({"iteration": number} if kind != "preparation" else {})
        runs += [run for run in api.named(label) if does_same(run, parameters, found.store.uri)]
    return sorted(runs, key=lambda run: (run.created, run.id))


def describe(api: Api, run: Run) -> list[str]:
    """A line on a run, and where it hangs or broke."""
    lines = [f"{run.name}: {run.state}: {api.link(run.id)}"]
    if run.state == "FAILED" and not run.stopped:
        return [*lines, f"  {fault(api, run)}"]
    if run.ended:
        return lines
    try:
        found = pods(api.workflow(run.id))
    except ApiError:
        return lines
    running = [pod.step for pod in found if pod.phase == "Running" and not pod.own]
    return [
        *lines,
        *([f"  runs: {', '.join(running)}"] if running else []),
        *(f"  {sentence}" for _, sentence in waits(found)),
    ]


def ask_to_terminate(api: Api, runs: Iterable[Run], say: Say) -> list[Run]:
    """Ask it of the active ones, which are returned; they take their time to end."""
    active = [run for run in runs if not run.ended]
    for run in active:
        api.terminate(run.id)
        say(f"{run.name}: asked to terminate: {api.link(run.id)}")
    return active


def await_ended(api: Api, runs: Iterable[Run], patience_s: float, say: Say) -> bool:
    """Wait for runs that were asked to terminate; whether all have ended in time."""
    end = time.monotonic() + patience_s
    for run in runs:
        while not (state := api.get(run.id)).ended:
            if time.monotonic() > end:
                say(f"{run.name}: still {state.state} after {patience_s:.0f} s; look again later")
                return False
            time.sleep(min(POLL_S, 0.1 * patience_s))
        say(f"{run.name}: {state.state}")
    return True


def show_logs(
    api: Api, found: FoundRun, iteration: int | None, step: str | None, follow: bool, say: Say
) -> None:
    """Print the logs of the newest run of an iteration, pod after pod. ConfigError without any."""
    runs = runs_of(api, found, iteration)
    if not runs:
        what = "of what comes next or was made last" if iteration is None else f"of {iteration}"
        raise ConfigError(
            f"run {found.name!r} has no run {what} on {api.access.endpoint}; "
            "--iteration N chooses another, --namespace NS where Kubeflow has several users"
        )
    run, pages = runs[-1], _Pages(api, runs[-1].id, step)
    say(f"--- {run.name} ({run.state}) {api.link(run.id)}")
    for line in _until_ended(api, run, pages, follow):
        say(line)
    if step is not None and not pages.seen:
        have = ", ".join(dict.fromkeys(pod.step for pod in pages.all)) or "none yet"
        raise ConfigError(f"--step {step}: {run.name} has no such step; it has {have}")


@dataclass
class _Pages:
    """The logs of a run's pods, and how much of each was read."""

    api: Api
    run_id: str
    step: str | None
    all: list[Pod] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    """Pod -> characters."""

    def new(self, last: bool) -> Iterator[str]:
        """What the wanted pods printed since; with `last`, what is known of pods without a log."""
        self.all = pods(self.api.workflow(self.run_id))
        for pod in self.all:
            wanted = not pod.own if self.step is None else is_step(pod.step, self.step)
            if wanted and pod.phase not in ("Skipped", "Omitted"):
                yield from self._of(pod, last)

    def _of(self, pod: Pod, last: bool) -> Iterator[str]:
        try:
            text = self.api.log(self.run_id, pod.name)
        except ApiError:
            if last and not self.seen.get(pod.name):
                self.seen[pod.name] = 0
                why = pod.message or "the pod is gone, and Argo archived no log (archiveLogs)"
                yield f"--- step {pod.step}: {pod.phase}, no log: {why}"
            return
        if pod.name not in self.seen:
            yield f"--- step {pod.step} (pod {pod.name})"
        known = self.seen.get(pod.name, 0)
        whole = len(text) if last else text.rfind("\n") + 1
        self.seen[pod.name] = max(known, whole)
        yield from text[known:whole].splitlines()


def _until_ended(api: Api, run: Run, pages: _Pages, follow: bool) -> Iterator[str]:
    while follow and not api.get(run.id).ended:
        yield from pages.new(last=False)
        time.sleep(POLL_S)
    yield from pages.new(last=True)
