"""Both stores, for tests that must hold on either: a folder, and a real S3 server."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from components.settings import StorageConfig
from components.storage import Store, open_store
from pipelines.seaweed import Server, serving


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One SeaweedFS for all tests."""
    with serving(tmp_path_factory.mktemp("seaweed")) as server:
        yield server


@pytest.fixture
def s3_settings(s3_server: Server, monkeypatch: pytest.MonkeyPatch) -> StorageConfig:
    """An empty prefix on the server, which the environment's credentials open."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return StorageConfig(uri=f"s3://{s3_server.bucket}/{uuid4().hex}")


@pytest.fixture
def file_settings(tmp_path: Path) -> StorageConfig:
    """An empty folder."""
    return StorageConfig(uri=f"file://{tmp_path}/store", cache=str(tmp_path / "cache"))


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest) -> Store:
    """An empty store of either kind."""
    return open_store(request.getfixturevalue(f"{request.param}_settings"))


@pytest.fixture
def file_store(file_settings: StorageConfig) -> Store:
    """An empty store in a folder."""
    return open_store(file_settings)
