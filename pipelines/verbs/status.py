"""`python -m pipelines status`: which runs there are, and how far one is."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import arguments

if TYPE_CHECKING:
    from pipelines.finding import FoundRun

TEXT = "which runs a store has; or how far one is, who drives it, and what it does now"
MORE = """examples:
  python -m pipelines status                                  # the runs of file://build/store
  python -m pipelines status --store s3://teams/quickstart
  python -m pipelines status quickstart-fa64ed1b
  python -m pipelines status quickstart-fa64ed1b --endpoint http://127.0.0.1:8888

states: running (a process of this machine drives it), finished, failed (with the reason), stopped
(interrupted or killed; the same command goes on), unknown (nobody here ever drove it: --endpoint
asks the cluster)."""
ROWS = 10


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.connecting import add_access

    verb = arguments.add_verb(verbs, "status", _status, TEXT, MORE)
    verb.add_argument("run", metavar="RUN", nargs="?", help="a run's name, or its YAML file")
    verb.add_argument(
        "--store", metavar="URI",
        help="file://folder or s3://bucket/prefix; default: that of the YAML file or of the run's "
        "driver here, else file://build/store",
    )  # fmt: skip
    verb.add_argument("--all", action="store_true", help=f"all iterations, not the last {ROWS}")
    add_access(verb, "asks it for the run's runs there")


def _status(options: argparse.Namespace) -> int:
    from components.errors import ConfigError
    from pipelines.overview import open_run

    if options.run is None:
        if options.endpoint:
            raise ConfigError("--endpoint is about one run: status RUN --endpoint URL")
        print(_table(options.store))
        return arguments.OK
    found = open_run(options.run, options.store)
    print("\n".join(_lines(found, None if options.all else ROWS)))
    if options.endpoint:
        print("\n".join(_on_cluster(found, options)))
    return arguments.OK


def _table(uri: str | None) -> str:
    from components.settings import StorageConfig
    from components.storage import open_store
    from pipelines.overview import table_of

    storage = StorageConfig() if uri is None else StorageConfig(uri=uri)
    return table_of(open_store(storage), storage)


def _lines(found: "FoundRun", rows: int | None) -> list[str]:
    """The state, the iterations, and the one that is being made."""
    from components.reporting.summary import RunSummary
    from components.reporting.table import text_table
    from pipelines.overview import ago, rows_of, state_of
    from pipelines.presence import last_driver

    state = state_of(found)
    said = f" ({state.said})" if state.said else ""
    lines = [f"{found.name}: {state.state}{said}, iteration {state.progress} in {found.store.uri}"]
    if state.iteration is not None:
        first = max(0, state.iteration + 1 - rows) if rows else 0
        summary = RunSummary(found.name, found.config, rows_of(found, state.iteration, first))
        lines += [text_table(summary), f"last committed {ago(state.committed_unix_s)}"]
    lines += _unfinished(found, state.iteration, state.state == "running")
    driver = last_driver(found.name)
    if driver and state.state in ("failed", "stopped"):
        lines.append(f"go on with: {driver.command}")
    if driver and Path("build/runs", found.name, "logs").exists():
        lines.append(f"logs: python -m pipelines logs {found.name}")
    return lines


def _unfinished(found: "FoundRun", latest: int | None, running: bool) -> list[str]:
    """What is committed of the next iteration, and which step of it runs."""
    from components.manifests import read_manifest
    from pipelines.logbook import current_step

    number = 0 if latest is None else latest + 1
    done = list(read_manifest(found.store, found.name, number))
    parts = [f"{', '.join(done)} done"] if done else []
    if running:
        step, progress = current_step(found.name, number)
        if progress:
            parts.append(f"{progress.step} runs: {progress.done}/{progress.total} {progress.unit}")
        elif step:
            parts.append(f"{step} runs")
    return [f"iteration {number}: {'; '.join(parts)}"] if parts else []


def _on_cluster(found: "FoundRun", options: argparse.Namespace) -> list[str]:
    from pipelines.connecting import connect
    from pipelines.remote import describe, runs_of

    api = connect(options)
    runs = runs_of(api, found)
    if not runs:
        return [f"no run of it on {options.endpoint}"]
    return [line for run in runs for line in describe(api, run)]
