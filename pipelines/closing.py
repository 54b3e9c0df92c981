"""What a run leaves in front of its user: the table, the verdict, the report, MLflow's command."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from components.config import ExperimentConfig
from components.errors import StorageError
from components.state import last_committed
from components.storage import open_store
from pipelines.driver import verdict
from pipelines.finding import FoundRun

if TYPE_CHECKING:
    from pipelines.looking import Written


def close(config: ExperimentConfig, run: str, say: Callable[[str], None]) -> bool:
    """Print the table and the promotion verdict of a run, write its HTML report, name the rest.

    Returns whether the latest team was promoted.
    """
    from pipelines.looking import write_report

    found = FoundRun(run, config, open_store(config.storage))
    last_committed(found.store, found.name)
    return tell(found, write_report([found]), say)


def tell(found: FoundRun, written: "Written", say: Callable[[str], None]) -> bool:
    """Print a run's table and verdict, and where its report and MLflow are; whether it passed."""
    from components.reporting.table import policy_lines, text_table

    (summary,) = written.summaries
    say("\n".join([text_table(summary), *policy_lines(summary)]))
    answer = None
    try:
        answer = verdict(found.store, found.name, last_committed(found.store, found.name))
        say(verdict_text(answer))
    except StorageError as error:  # damaged: all else is shown
        say(f"promotion: its answer cannot be read: {error}")
    say(f"report: {written.path}")
    say(f"MLflow: {mlflow_command(found.config)}")
    return is_promoted(answer)


def is_promoted(verdict: Mapping[str, Any] | None) -> bool:
    """Whether the gate passed the team."""
    return bool(verdict and verdict.get("promoted"))


def verdict_text(verdict: Mapping[str, Any] | None) -> str:
    """One line on the gate, and one for each warning."""
    if not verdict:
        return "promotion: not asked yet; `python -m pipelines promote` asks"
    word = "promoted" if is_promoted(verdict) else "refused"
    line = f"promotion: {word}: {'; '.join(verdict.get('reasons', []))}"
    return "\n".join([line, *(f"warning: {text}" for text in verdict.get("warnings", []))])


def mlflow_command(config: ExperimentConfig) -> str:
    """How to look at the run: a server's address, or the command that starts the UI."""
    from components.tracking.connection import is_server, tracking_uri

    uri = tracking_uri(config.tracking)
    return uri if is_server(uri) else f"python -m mlflow ui --backend-store-uri {uri}"
