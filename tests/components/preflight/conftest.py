"""Fixtures of the tests that need MLflow."""

from tests.components.tracking.stores import blank_database

__all__ = ["blank_database"]
