"""Pages for people to look at, written beside a run's logs: its episodes, and reports of runs."""

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from components.errors import ConfigError, RolewiseError
from components.state import latest_iteration
from pipelines.finding import FoundRun
from pipelines.runner import RUNS

if TYPE_CHECKING:
    from components.reporting.budget import Hardware
    from components.reporting.summary import RunSummary
    from pipelines.profile import Profile

REPORTS = Path("build/reports")
MAX_CANDIDATES = 60_000
"""Of an iteration whose episodes are written with every report; more take a verb of their own."""


@dataclass(frozen=True)
class Written:
    """A page that was written."""

    path: Path
    num_episodes: int = 0
    summaries: Sequence["RunSummary"] = ()


def write_episodes(
    found: FoundRun,
    iteration: int | None = None,
    against: int | None = None,
    path: Path | None = None,
    back: str | None = None,
) -> Written:
    """Write the page of one iteration (None: the latest), or of two; ConfigError without play.

    The file is replaced whole; `back` is its link to a report.
    """
    from components.reporting.viewer.page import write_page
    from components.reporting.viewer.played import played, speller

    last = latest_iteration(found.store, found.name) or 0
    chosen = last if iteration is None else iteration
    if against == chosen:
        raise ConfigError(f"--against {against} is the iteration itself; expected another one")
    iterations = [chosen, *([] if against is None else [against])]
    sources = [item for number in iterations for item in played(found.store, found.name, number)]
    target = path or RUNS / found.name / f"episodes-{chosen:06d}.html"
    title = f"{found.name}, iteration {' against '.join(map(str, iterations))}"
    spell = speller(found.store, found.config, found.name, iterations)
    with replacing(target) as file:
        count = write_page(file, title, list(found.config.roles), sources, spell, back)
    return Written(target, count)


def write_report(
    found: Sequence[FoundRun],
    path: Path | None = None,
    hardware: "Hardware | None" = None,
    with_episodes: bool = True,
) -> Written:
    """Write the report of one run or of several, and each run's episodes.

    With `path` they lie beside it, named after it, so that the folder can be moved as a whole; else
    in each run's own folder. Episodes that cannot be read, or are too many to come unasked, are
    left out with a line.
    """
    from components.reporting.html import report
    from components.reporting.summary import collect

    summaries = [collect(item.store, item.config, item.name) for item in found]
    alone = RUNS / found[0].name / "report.html"
    target = path or (alone if len(found) == 1 else REPORTS / f"{_name(found)}.html")
    check_writable(target)  # the episodes take long
    links = {}
    for item, summary in zip(found, summaries, strict=True):
        page = _beside(path, item, found) if path else RUNS / item.name / "episodes.html"
        if with_episodes and _write_episodes_of(item, summary, page, target):
            links[item.name] = _link(page, target)
    with replacing(target) as file:
        file.write(report(summaries, hardware, links))
    return Written(target, summaries=summaries)


def check_writable(target: Path) -> None:
    """Make the folder of `target`; ConfigError if it cannot be a file. Before long work."""
    if target.is_dir():
        raise ConfigError(f"output {str(target)!r} is a folder; expected a file's name")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _scratch(target).open("w"):
            pass
        _scratch(target).unlink()
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"output {str(target)!r} cannot be written: {reason}") from error


@contextmanager
def replacing(target: Path) -> Iterator[TextIO]:
    """A file that takes the place of `target` when it is complete; ConfigError if it cannot."""
    check_writable(target)
    scratch = _scratch(target)
    try:
        with scratch.open("w", encoding="utf-8") as file:
            yield file
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def hardware_of(profile: "Profile", price_per_gpu_hour: float | None) -> "Hardware":
    """GPUs and prices by step: the profile's, a price given here before the profile's."""
    from components.reporting.budget import Hardware
    from pipelines.booking import runtime_of
    from pipelines.steps import STEPS

    booked = {
        name: accelerator
        for name, step in STEPS.items()
        if (accelerator := profile.settings(name, runtime_of(step)).accelerator)
    }
    prices = {
        name: price
        for name, item in booked.items()
        if (price := item.price_per_hour if price_per_gpu_hour is None else price_per_gpu_hour)
        is not None
    }
    return Hardware({name: item.count for name, item in booked.items()}, prices)


def _write_episodes_of(found: FoundRun, summary: "RunSummary", target: Path, report: Path) -> bool:
    """The latest iteration's episodes against the first's; False if there are none to show."""
    rows = [row for row in summary.rows if row.iteration > 0]
    if not rows:
        return False
    first, last = rows[0].iteration, rows[-1].iteration
    shown = [row for row in rows if row.iteration in (first, last)]
    candidates = sum(row.metrics.get("grouping/num_samples", 0.0) for row in shown)
    if candidates > MAX_CANDIDATES:
        print(
            f"{found.name}: its episodes are left out, they have {candidates:,.0f} candidates; "
            f"`python -m pipelines episodes {found.name} --store {found.store.uri}` writes them",
            flush=True,
        )  # fmt: skip
        return False
    against, back = first if first < last else None, _link(report, target)
    try:
        write_episodes(found, last, against, target, back)
    except RolewiseError as error:  # a report without them is better than none
        told = f"warning: {found.name}: its episodes are left out: {error}"
        print(told, file=sys.stderr, flush=True)
        return False
    return True


def _name(found: Sequence[FoundRun]) -> str:
    """A file's name of several runs: the first one's, and of which set of them, in any order."""
    names = "\n".join(sorted(item.name for item in found))
    digest = hashlib.sha256(names.encode()).hexdigest()[:8]
    return f"{found[0].name}-and-{len(found) - 1}-more-{digest}"


def _beside(report: Path, found: FoundRun, runs: Sequence[FoundRun]) -> Path:
    """`x.html` -> `x-episodes.html`; of several runs `x-episodes-RUN.html`."""
    own = f"-{found.name}" if len(runs) > 1 else ""
    return report.with_name(f"{report.stem}-episodes{own}.html")


def _link(page: Path, beside: Path) -> str:
    """The relative address of a page on another: a name may hold `#`, `?` or `%`."""
    return quote(os.path.relpath(page, beside.parent))


def _scratch(target: Path) -> Path:
    return target.with_name(f".{target.name}.partial")
