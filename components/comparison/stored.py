"""What the store has of a team's held-out play: the outcomes that some step committed.

Three steps play held-out tasks: the closing evaluation, the rollout of the iteration after (whose
record has no rewards), and `held_out`, which `compare --evaluate` adds.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from components import records
from components.comparison.outcomes import HeldOut, outcomes_of, task_source
from components.config import ExperimentConfig
from components.manifests import committed, read_output
from components.records import Episode
from components.state import last_committed
from components.storage import Store
from components.stored_records import read_committed

HELD_OUT = "held_out"
"""The step of `compare --evaluate`."""


def held_out_of(
    store: Store, config: ExperimentConfig, run: str, iteration: int, benchmark: str
) -> list[HeldOut]:
    """All that was played by the team of one iteration, the best kept first; may be empty."""
    found = [*_reported(store, config, run, iteration, benchmark)]
    if benchmark == "validation":
        found += _loaded(store, config, run, iteration)
    return found


def latest_played(store: Store, config: ExperimentConfig, run: str, benchmark: str) -> int:
    """The last iteration whose team has outcomes, or the last one at all if none has.

    ConfigError if the run has no iteration.
    """
    last = last_committed(store, run)
    for iteration in range(last, -1, -1):
        if held_out_of(store, config, run, iteration, benchmark):
            return iteration
    return last


def _reported(
    store: Store, config: ExperimentConfig, run: str, iteration: int, benchmark: str
) -> Iterator[HeldOut]:
    """Of steps that write a report beside the episodes."""
    for step in ("evaluate", HELD_OUT):
        for key, _ in reversed(committed(store, run, iteration, step)):
            report = json.loads(read_output(store, key, "report"))
            part: Mapping[str, Any] | None = report["benchmarks"].get(benchmark)
            if part is not None:
                tasks = part.get("tasks") or task_source(config, benchmark)
                rewards = part.get("rewards_by_task", {})
                episodes = _episodes(store, key, benchmark)
                yield HeldOut(run, iteration, step, tasks, outcomes_of(episodes, rewards))


def _loaded(store: Store, config: ExperimentConfig, run: str, iteration: int) -> Iterator[HeldOut]:
    """Of the iteration after, which evaluates the team that it loads."""
    for step in ("rollout", "evaluate_team"):
        for key, _ in committed(store, run, iteration + 1, step)[-1:]:
            episodes = _episodes(store, key, "validation")
            if episodes:
                tasks = task_source(config, "validation")
                yield HeldOut(run, iteration, step, tasks, outcomes_of(episodes, {}))


def _episodes(store: Store, key: str, benchmark: str) -> list[Episode]:
    table = read_committed(store, key, "evaluation", Episode)
    rows: list[Episode] = records.from_table(Episode, table)
    return [row for row in rows if row.benchmark == benchmark]
