"""What a run leaves in front of its user: the table, the verdict, the report, MLflow's command."""

from collections.abc import Callable, Mapping
from typing import Any

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.state import latest_iteration
from components.storage import open_store
from pipelines.driver import verdict
from pipelines.runner import RUNS


def close(config: ExperimentConfig, run: str, say: Callable[[str], None]) -> bool:
    """Print the table and the promotion verdict of a run, write its HTML report, name the rest.

    Returns whether the latest team was promoted.
    """
    from components.reporting.html import html_report
    from components.reporting.summary import collect
    from components.reporting.table import policy_lines, text_table

    store = open_store(config.storage)
    latest = latest_iteration(store, run)
    if latest is None:
        raise ConfigError(
            f"run {run!r} has no committed iteration in {store.uri}; "
            "give its --name, or train it with `python -m pipelines run`"
        )
    summary = collect(store, config, run)
    path = RUNS / run / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html_report(summary))
    say("\n".join([text_table(summary), *policy_lines(summary)]))
    answer = verdict(store, run, latest)
    say(verdict_text(answer))
    say(f"report: {path}")
    say(f"MLflow: {mlflow_command(config)}")
    return is_promoted(answer)


def is_promoted(verdict: Mapping[str, Any] | None) -> bool:
    """Whether the gate passed the team."""
    return bool(verdict and verdict.get("promoted"))


def verdict_text(verdict: Mapping[str, Any] | None) -> str:
    """One line on the gate."""
    if not verdict:
        return "promotion: not asked yet; `python -m pipelines promote` asks"
    word = "promoted" if is_promoted(verdict) else "refused"
    return f"promotion: {word}: {'; '.join(verdict.get('reasons', []))}"


def mlflow_command(config: ExperimentConfig) -> str:
    """How to look at the run: a server's address, or the command that starts the UI."""
    from components.tracking.connection import is_server, tracking_uri

    uri = tracking_uri(config.tracking)
    return uri if is_server(uri) else f"python -m mlflow ui --backend-store-uri {uri}"
