"""The local S3 server: started, restarted with its data, stopped, and closed to others."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from components.errors import StorageError
from components.settings import StorageConfig
from components.storage import open_store
from pipelines import seaweed
from pipelines.seaweed import free_ports, serving

pytestmark = pytest.mark.full


def test_data_outlive_the_server_and_the_server_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for expected in ([], ["kept"]):
        with serving(tmp_path, "bucket") as server:
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            store = open_store(StorageConfig(uri="s3://bucket"))
            assert store.list("") == expected
            store.write("kept", b"x")
            addresses = {
                connection.laddr.ip
                for connection in psutil.Process(server.pid).net_connections()
                if connection.status == psutil.CONN_LISTEN
            }
            assert addresses == {"127.0.0.1"}
        assert not psutil.pid_exists(server.pid)
    assert stat.S_IMODE((tmp_path / "s3.json").stat().st_mode) == 0o600


def test_a_command_runs_beside_it(tmp_path: Path) -> None:
    script = "import os, sys; sys.exit(7 if os.environ['AWS_ENDPOINT_URL_S3'] else 1)"
    command = [sys.executable, "-m", "pipelines.seaweed", "--dir", str(tmp_path), "--"]
    result = subprocess.run([*command, sys.executable, "-c", script], check=False)
    assert result.returncode == 7


def test_a_server_that_ends_at_once_is_reported_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seaweed, "_program", lambda: "/bin/false")
    with (
        pytest.raises(StorageError, match=r"SeaweedFS ended with 1; see .*weed.log"),
        serving(tmp_path),
    ):
        pass


def test_the_key_pair_is_kept(tmp_path: Path) -> None:
    assert seaweed._credentials(tmp_path) == seaweed._credentials(tmp_path)
    assert json.loads((tmp_path / "s3.json").read_text())["identities"][0]["name"] == "rolewise"


def test_ports_and_their_twins_are_distinct() -> None:
    ports = free_ports(4)
    assert len({*ports, *(port + seaweed.GRPC_OFFSET for port in ports)}) == 8


def test_the_program_comes_with_the_package() -> None:
    assert os.access(seaweed._program(), os.X_OK)
