"""Fixtures of the tests that need MLflow."""

from pathlib import Path

import pytest

from tests.components.promotion.promoting import Step
from tests.components.tracking.stores import Tracked, blank_database, tracked

__all__ = ["blank_database", "tracked"]


@pytest.fixture
def step(tracked: Tracked, tmp_path: Path) -> Step:
    return Step(tracked(), tmp_path)
