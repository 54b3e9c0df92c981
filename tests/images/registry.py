"""A registry on loopback from Debian's package, so that images can be pushed and get a digest."""

import http.client
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.images.engine import NoEngine, install

START_S = 20.0


@contextmanager
def local_registry(folder: Path) -> Iterator[str]:
    """Its address, host:port. NoEngine if the package cannot be had."""
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
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True) as process,
    ):
        try:
            _wait(port)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            connection.request("GET", "/v2/")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise NoEngine(f"docker-registry does not answer on port {port}")
