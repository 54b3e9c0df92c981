"""Where MLflow is, a client for it, and its failures as one line.

The defaults keep a training step from hanging on a dead server: a few short retries, then a
TrackingError. A variable that the user set is left as it is.
"""

import logging
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from components.errors import TrackingError
from components.process import without_collector
from components.settings import TrackingConfig

DEFAULT_URI = "sqlite:///build/mlflow.db"
_SCHEMES = (
    "http", "https", "sqlite", "postgresql", "postgres", "mysql", "mssql", "databricks",
    "databricks-uc", "uc",
)  # fmt: skip
_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "GIT_PYTHON_REFRESH": "quiet",
}
_UNREACHABLE = re.compile(
    r"Max retries exceeded with url.*Caused by \w+\((?:\"HTTPS?Connection\([^)]*\): )?(.*)"
)
"""Of the HTTP library: between its own objects and the whole request stands what was the matter."""


def tracking_uri(settings: TrackingConfig) -> str:
    """The configuration's, else MLFLOW_TRACKING_URI, else a SQLite file under `build/`."""
    return settings.uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI


def is_server(uri: str) -> bool:
    """Whether a tracking server stands between us and the store (it refuses local sources)."""
    return urlsplit(uri).scheme in ("http", "https")


def artifact_location(uri: str, experiment: str) -> str | None:
    """Where a new experiment keeps artifacts: `mlartifacts/` beside a SQLite file, else the
    server's choice (None)."""
    if not uri.startswith("sqlite:///"):
        return None
    folder = Path(uri.removeprefix("sqlite:///")).absolute().parent / "mlartifacts"
    return (folder / experiment.replace("/", "_")).as_uri()


def open_client(settings: TrackingConfig) -> Any:
    """An `MlflowClient`; creates the folder and the database of a SQLite URI."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    uri = tracking_uri(settings)
    _check_scheme(uri)
    with without_collector():
        from mlflow.client import MlflowClient

    for name in ("alembic", "mlflow.store.db.utils"):
        logging.getLogger(name).setLevel(logging.WARNING)
    with translated(uri, "open"), without_collector():
        if uri.startswith("sqlite:///"):
            create_database(Path(uri.removeprefix("sqlite:///")).absolute())
        return MlflowClient(tracking_uri=uri, registry_uri=uri)


def _check_scheme(uri: str) -> None:
    """TrackingError for what MLflow has no registry in: folders, and schemes it does not know."""
    if urlsplit(uri).scheme.partition("+")[0] not in _SCHEMES:
        raise TrackingError(
            public(
                f"tracking URI {uri!r}: expected a server's http(s)://host, a file as "
                "sqlite:///build/mlflow.db, or a database as postgresql://host/name; set "
                "tracking.uri, --tracking-uri or MLFLOW_TRACKING_URI"
            )
        )


def create_database(path: Path) -> None:
    """Make MLflow's SQLite file, whole or not at all; one that exists is left as it is.

    MLflow itself builds the tables in the file under way: killed or on a full disk, it leaves one
    that it cannot open again.
    """
    if path.exists():
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.partial-{uuid.uuid4().hex[:12]}")
    try:
        SqlAlchemyStore(f"sqlite:///{scratch}", str(path.parent / "mlartifacts")).engine.dispose()
        if not path.exists():
            os.replace(scratch, path)
    finally:
        for left in path.parent.glob(f"{scratch.name}*"):
            left.unlink()


@contextmanager
def translated(uri: str, action: str) -> Iterator[None]:
    """MLflow's, the database's and the network's failures as TrackingError with the fix."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except (MlflowException, OSError, ImportError) as error:
        raise _error(uri, action, error) from _cause(uri, error)
    except Exception as error:  # the database's errors, whose package a thin client lacks
        if not type(error).__module__.startswith("sqlalchemy"):
            raise
        raise _error(uri, action, error) from error


@contextmanager
def without_active_run() -> Iterator[str | None]:
    """The id in MLFLOW_RUN_ID, hidden meanwhile: with it set, MLflow nests new runs wrongly."""
    found = os.environ.pop("MLFLOW_RUN_ID", None)
    try:
        yield found
    finally:
        if found is not None:
            os.environ["MLFLOW_RUN_ID"] = found


def _error(uri: str, action: str, error: Exception) -> TrackingError:
    reason = " ".join(str(error).split())
    if unreachable := _UNREACHABLE.search(reason):
        told = unreachable[1].rstrip("\"')")
        reason = f"no answer: {told}"
    reason = reason[:300]
    fix = f"install {error.name}" if isinstance(error, ModuleNotFoundError) else _fix(uri)
    return TrackingError(public(f"MLflow at {uri}: {action} failed: {reason.rstrip('.')}; {fix}"))


def _cause(uri: str, error: Exception) -> Exception | None:
    """The error itself, unless its text would show a password."""
    return None if urlsplit(uri).password else error


def public(text: str) -> str:
    """The text without user and password in its URIs."""
    return re.sub(r"://[^/@\s]+@", "://", text)


def _fix(uri: str) -> str:
    if is_server(uri):
        return "start the server or set tracking.uri; the same command then continues"
    return (
        "check that the path can be written, or set tracking.uri; the same command then continues"
    )
