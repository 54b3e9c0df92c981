"""`mlflow server` on a database of its own."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_START_S = 120.0


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The server's URI; database, artifacts and log are in the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
        "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1",
        "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True) as child,
    ):
        try:
            uri = f"http://127.0.0.1:{port}"
            _wait(uri, child, folder / "log")
            yield uri
        finally:
            child.terminate()
            child.wait(30)


def _wait(uri: str, child: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and child.poll() is None:
        try:
            with urllib.request.urlopen(f"{uri}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"no MLflow server: {log.read_text()[-2000:]}")
