"""Runs one of an experiment's pipelines on this machine: compile, run, log, report the fault.

Two ways, one compiled pipeline: `local` gives every step a process of its own, as on a cluster;
`inprocess` calls the steps here, which saves their start. What the steps print goes to
build/runs/<run>/logs/<iteration>.log; the display sees progress only.
"""

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from threading import Thread
from typing import Any, Literal, TextIO

from components.config import ExperimentConfig
from components.errors import RolewiseError
from components.progress import parse_progress
from pipelines.display import Display

RUNS = Path("build/runs")
Kind = Literal["local", "inprocess"]
_STARTED = re.compile(r"Executing task \S*?'([^']+)'")
_NOTICE = re.compile(r"^\s*(engine: (?:vllm|transformers).*)$")
_FAULT = re.compile(r"^\s*(error: \w[\w.-]* \(run .*)$")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


STEP_MARK = "--- step "
"""Begins the line of a log from which on a step prints."""


def log_path(run: str, iteration: int) -> Path:
    """Where the steps of an iteration print to, attempt after attempt."""
    return RUNS / run / "logs" / f"{iteration:06d}.log"


class StepFailed(RolewiseError):
    """A step failed; the text is the step's own line."""


class RunStopped(StepFailed):
    """Somebody stopped the pipeline's run: it is not repeated by itself."""


@dataclass
class Runner:
    """Runs pipelines of one training run, one at a time."""

    config: ExperimentConfig
    run: str
    kind: Kind
    display: Display
    keep_artifacts: bool = False
    """Whether what the steps handed to each other stays after a pipeline has succeeded."""
    profile: str = "cpu"
    _specs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Logs, artifacts, compiled pipelines and the report of the run."""
        return RUNS / self.run

    def __call__(self, pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        """Run a pipeline to its end. StepFailed if a step fails."""
        self._compile(pipeline)
        path = log_path(self.run, iteration)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", buffering=1) as log:
            log.write(f"--- {pipeline} {dict(arguments)}\n")
            watch = _Watch(self.display, log)
            start = self._run_local if self.kind == "local" else self._run_here
            if not start(pipeline, {"run": self.run, **arguments}, watch):
                raise StepFailed(watch.fault(path))
        if not self.keep_artifacts:
            rmtree(self._artifacts(pipeline, iteration), ignore_errors=True)

    def _artifacts(self, pipeline: str, iteration: int) -> Path:
        """Files between steps, of all attempts; what counts of them is committed to the store."""
        return self.folder / "artifacts" / f"{pipeline}-{iteration:06d}"

    def _compile(self, pipeline: str) -> None:
        if pipeline not in self._specs:
            from pipelines.compiling import compile

            output = self.folder / f"{pipeline}.yaml"
            self._specs[pipeline] = compile(self.config, self.profile, output, pipeline)

    def _run_local(self, pipeline: str, arguments: Mapping[str, Any], watch: "_Watch") -> bool:
        from pipelines.local import run_local

        spec = self.folder / f"{pipeline}.yaml"
        folder = self._artifacts(pipeline, arguments.get("iteration", 0))
        return run_local(spec, arguments, folder, watch.line) == 0

    def _run_here(self, pipeline: str, arguments: Mapping[str, Any], watch: "_Watch") -> bool:
        from pipelines.inprocess import run_pipeline
        from pipelines.steps import STEPS

        functions = {name: step.python_func for name, step in STEPS.items()}
        folder = self._artifacts(pipeline, arguments.get("iteration", 0))
        with captured_output(watch.line):
            try:
                run_pipeline(self._specs[pipeline], functions, arguments, folder, watch.started)
            except Exception:  # the boundary of a pipeline: the log gets it, the caller the fault
                traceback.print_exc()
                return False
            except KeyboardInterrupt:
                end_children()
                raise
        return True


def end_children() -> None:
    """Kill what this process started and has not ended: an interrupted step's engine or job."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()


@dataclass
class _Watch:
    """Sorts the lines of a running pipeline: all to the log, progress to the display."""

    display: Display
    log: TextIO
    step: str = "the pipeline"
    faults: list[str] = field(default_factory=list)

    def line(self, raw: str) -> None:
        text = _ANSI.sub("", raw)
        self.log.write(text + "\n")
        started, fault = _STARTED.search(text), _FAULT.match(text)
        progress = parse_progress(text)
        if started:
            self.started(started.group(1))
        elif fault:
            self.faults.append(fault.group(1))
        elif progress:
            self.display.progressed(progress)
        elif notice := _NOTICE.match(text):
            self.display.notice(notice.group(1))

    def started(self, task: str) -> None:
        self.step = task
        self.log.write(f"{STEP_MARK}{task}\n")
        self.display.step_started(task)

    def fault(self, path: Path) -> str:
        """The first step's own line, else what is known."""
        if self.faults:
            return self.faults[0]
        return (
            f"error: {self.step} ended without a message (killed, or out of memory?); "
            f"the last lines of {path} say more"
        )


@contextmanager
def captured_output(on_line: Callable[[str], None]) -> Iterator[None]:
    """Send what this process and its children print, line by line, to `on_line` (in a thread).

    If `on_line` raises, the rest is read and dropped, so that nobody waits; the error rises here.
    """
    errors: list[OSError] = []
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    saved = {number: os.dup(number) for number in (1, 2)}
    for number in saved:
        os.dup2(write_end, number)
    writer = os.fdopen(write_end, "w", buffering=1)
    reader = Thread(target=_read_lines, args=(read_end, on_line, errors), daemon=True)
    reader.start()
    try:
        with redirect_stdout(writer), redirect_stderr(writer):
            yield
    finally:
        for number, original in saved.items():
            os.dup2(original, number)
            os.close(original)
        writer.close()
        reader.join(timeout=5.0)  # a child that outlives its step may hold the other end
    if errors:
        raise errors[0]


def _read_lines(descriptor: int, on_line: Callable[[str], None], errors: list[OSError]) -> None:
    with os.fdopen(descriptor, errors="replace") as stream:
        for line in stream:
            try:
                on_line(line.rstrip("\n"))
            except OSError as error:  # a log on a full disk
                errors.append(error)
