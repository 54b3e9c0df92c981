"""What the steps of a run printed on this machine: found by iteration and step, and followed."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from components.errors import ConfigError
from components.progress import Progress, parse_progress
from pipelines.framing import Frame
from pipelines.presence import last_driver
from pipelines.runner import RUNS, STEP_MARK, log_path

POLL_S = 0.3
_BEGINS = re.compile(rf"^(?:{STEP_MARK}|.*Executing task \S*?')([a-z0-9_-]+)'?$")
Say = Callable[[str], None]


@dataclass
class Steps:
    """Knows of each line of a log, in their order, whose it is."""

    wanted: str | None = None
    """A step's name; None: all lines."""
    current: str = ""

    def takes(self, line: str) -> bool:
        """Whether the line is of the wanted step; for a staged step, of any of its turns."""
        if found := _BEGINS.match(line):
            self.current = found[1].replace("-", "_")
        elif line.startswith("--- "):  # another pipeline, or another attempt
            self.current = ""
        return self.wanted is None or is_step(self.current, self.wanted)


def is_step(name: str, wanted: str) -> bool:
    """Whether a task is the wanted step: `sample-turn-2` is one of `sample_turn`."""
    plain = name.replace("-", "_")
    return wanted.replace("-", "_") in (plain, re.sub(r"_\d+$", "", plain))


def show(
    run: str, iteration: int | None, step: str | None, follow: bool, say: Say, whole: bool = False
) -> None:
    """Print a log, by default that of the last iteration; ConfigError if there is none.

    `whole`: with all that kfp's local runner says around the steps.
    """
    path = _chosen(run, iteration)
    if step is not None and not follow:
        _check_step(path, step)
    frame = Frame()
    for line in _lines(run, path, iteration is None, step, follow):
        for own in [line] if whole else frame.own(line):
            say(own)


def current_step(run: str, iteration: int) -> tuple[str, Progress | None]:
    """The step that printed last in an iteration's log, and its last word on its progress."""
    steps, last = Steps(), None
    try:
        lines = log_path(run, iteration).read_text(errors="replace").splitlines()
    except OSError:
        return "", None
    for line in lines:
        before = steps.current
        steps.takes(line)
        last = parse_progress(line) or (last if steps.current == before else None)
    return steps.current, last


def _chosen(run: str, iteration: int | None) -> Path:
    logs = _logs(run)
    if not logs:
        raise ConfigError(
            f"run {run!r} has no logs in {RUNS / run / 'logs'}: its steps ran elsewhere; logs of a "
            "cluster: --endpoint URL"
        )
    if iteration is None:
        return logs[-1]
    if log_path(run, iteration) not in logs:
        have = ", ".join(str(int(path.stem)) for path in logs)
        raise ConfigError(f"--iteration {iteration}: run {run!r} has logs of {have} here")
    return log_path(run, iteration)


def _logs(run: str) -> list[Path]:
    """In the order in which they were last written."""
    found = [path for path in (RUNS / run / "logs").glob("*.log") if path.stem.isdecimal()]
    return sorted(found, key=lambda path: (path.stat().st_mtime, path.name))


def _check_step(path: Path, step: str) -> None:
    steps, seen = Steps(), dict[str, None]()
    with path.open(errors="replace") as log:
        for line in log:
            steps.takes(line.rstrip("\n"))
            seen[steps.current] = None
    if not any(is_step(name, step) for name in seen):
        have = ", ".join(name for name in seen if name) or "none yet"
        raise ConfigError(f"--step {step}: {path} has no such step; it has {have}")


def _lines(run: str, path: Path, any_log: bool, step: str | None, follow: bool) -> Iterator[str]:
    """The lines of a log; followed, until nobody drives the run any more, and with `any_log` on
    into the logs of the iterations that come."""
    following: Path | None = path
    while following is not None:
        path, following = following, None
        steps, rest = Steps(step), list[str]()
        with path.open(errors="replace") as log:
            while True:
                driven, newest = follow and _is_driven(run), _logs(run)[-1]
                yield from (line for line in _new_lines(log, rest) if steps.takes(line))
                if not driven:
                    return
                if any_log and newest != path:
                    following = newest
                    break
                time.sleep(POLL_S)


def _is_driven(run: str) -> bool:
    driver = last_driver(run)
    return driver is not None and driver.alive


def _new_lines(log: TextIO, rest: list[str]) -> Iterator[str]:
    """Whole lines that were written since; the beginning of one waits in `rest`."""
    while part := log.readline():
        rest.append(part)
        if part.endswith("\n"):
            yield "".join(rest)[:-1]
            rest.clear()
