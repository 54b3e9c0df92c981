"""Pages for people to look at, written beside a run's logs: its episodes."""

import os
from dataclasses import dataclass
from pathlib import Path

from components.errors import ConfigError
from components.state import latest_iteration
from pipelines.finding import FoundRun
from pipelines.runner import RUNS


@dataclass(frozen=True)
class Written:
    """A page that was written."""

    path: Path
    num_episodes: int


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
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.partial")
    words = " against ".join(map(str, iterations))
    title = f"{found.name}, iteration {words}"
    spell = speller(found.store, found.config, found.name, iterations)
    roles = list(found.config.roles)
    try:
        with scratch.open("w", encoding="utf-8") as file:
            count = write_page(file, title, roles, sources, spell, back)
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)
    return Written(target, count)
