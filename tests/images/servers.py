"""Servers on loopback that the containers reach over the host's network: a registry, MLflow."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.images.engine import install

START_S = 180.0
STOP_S = 30.0


class NoServer(Exception):
    """A server did not come up; the text has its last words."""


@contextmanager
def local_registry(folder: Path) -> Iterator[str]:
    """Address, host:port, of a registry from Debian's package, so that a push gives a digest.

    NoEngine if the package cannot be had.
    """
    install("docker-registry")
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    settings = {
        "version": 0.1,
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    command = ["docker-registry", "serve", str(folder / "config.yaml")]
    with _serving(command, port, "/v2/", folder / "log"):
        yield f"127.0.0.1:{port}"


@contextmanager
def tracking_server(folder: Path) -> Iterator[str]:
    """Address of an MLflow server: the images hold its client only, as on a cluster."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
        "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1",
        "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    with _serving(command, port, "/health", folder / "log"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _serving(command: Sequence[str], port: int, path: str, log: Path) -> Iterator[None]:
    """A server while the block runs; it and its children end with the block."""
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True) as server,
    ):
        try:
            _wait(server, port, path, log)
            yield
        finally:
            _end(server)


def _wait(server: "subprocess.Popen[bytes]", port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.2)
    raise NoServer(f"{server.args!r} does not answer: {log.read_text(errors='replace')[-400:]}")


def _end(server: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, number)
            server.wait(STOP_S)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
