"""A blank MLflow database, made once, and experiments that track into a copy of it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig
from components.settings import TrackingConfig
from components.tracking.connection import open_client
from tests.doubles.teams import make_config

Tracked = Callable[..., ExperimentConfig]


@pytest.fixture(scope="session")
def blank_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Making the tables takes longer than all that a test does with them."""
    path = tmp_path_factory.getbasetemp() / "blank" / "mlflow.db"
    if not path.exists():  # two test folders ask, each through its own conftest
        open_client(TrackingConfig(uri=f"sqlite:///{path}")).search_experiments()
    return path


@pytest.fixture
def tracked(
    blank_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tracked]:
    """Makes configurations that share one fresh store and one fresh database."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    shutil.copy(blank_database, tmp_path / "mlflow.db")

    def make(**sections: Any) -> ExperimentConfig:
        return make_config(str(tmp_path), **sections)

    yield make


def points(client: Any, run_id: str, name: str) -> list[tuple[int, float]]:
    """(step, value) of a series."""
    return [(point.step, point.value) for point in client.get_metric_history(run_id, name)]
