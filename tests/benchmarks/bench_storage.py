"""S3: a 200 MB file there and back, in parallel parts against boto3 with one stream.

The server is SeaweedFS on this machine. Beside us the network costs nothing, so the client's CPU
time is compared; what parallel parts are for is measured in wall time over a line on which each
connection is slow.
"""

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from uuid import uuid4

from components.settings import StorageConfig
from components.storage.s3 import S3Store
from pipelines.seaweed import Server, serving
from tests.benchmarks.harness import Row, compare, row, seconds

MB = 10**6
NUM_MB = 200
STREAM_MB_S = 10
"""What one connection carries over the slow line; several carry more."""
Pair = tuple[Callable[[], None], Callable[[], None]]


def rows() -> list[Row]:
    """Both ways, beside the server and over the line."""
    with TemporaryDirectory(prefix="rolewise-bench-storage-") as folder:
        root = Path(folder)
        (root / "source").write_bytes(os.urandom(NUM_MB * MB))
        with serving(root / "seaweed") as server:
            os.environ.update(server.environment)
            near = _compared(server, server.endpoint, root, _cpu_row)
            with slow_line(server.endpoint) as endpoint:
                return near + _compared(server, endpoint, root, _line_row)


def _compared(
    server: Server, endpoint: str, root: Path, measure: Callable[[str, Pair], Row]
) -> list[Row]:
    store = S3Store(StorageConfig(uri=f"s3://{server.bucket}/b", endpoint_url=endpoint))
    source, target = root / "source", root / "target"

    def put() -> None:
        store.upload_file(source, uuid4().hex)

    def get() -> None:
        store.download_file("kept", target)

    store.upload_file(source, "kept")
    made = [
        measure("upload", (put, lambda: _put(store, source, uuid4().hex))),
        measure("download", (get, lambda: _get(store, "kept", root / "other"))),
    ]
    assert target.read_bytes() == source.read_bytes() == (root / "other").read_bytes()
    return made


def _cpu_row(way: str, pair: Pair) -> Row:
    mine, theirs = compare(*pair, repeats=3)
    return _row(f"S3 {way} of 200 MB", mine, theirs, "MB/CPU s", "boto3, one stream")


def _line_row(way: str, pair: Pair) -> Row:
    mine, theirs = seconds(pair[0]), seconds(pair[1])
    name = f"S3 {way} of 200 MB, {STREAM_MB_S} MB/s a connection"
    return _row(name, mine, theirs, "MB/s", "boto3, one stream")


def _row(name: str, mine: float, theirs: float, unit: str, note: str) -> Row:
    rates = NUM_MB / mine, NUM_MB / theirs
    return row(name, *rates, None, unit, note, higher_is_better=True)


def _put(store: S3Store, source: Path, key: str) -> None:
    with source.open("rb") as file:
        store.client.put_object(Bucket=store.bucket.name, Key=store.bucket.key(key), Body=file)


def _get(store: S3Store, key: str, target: Path) -> None:
    answer = store.client.get_object(Bucket=store.bucket.name, Key=store.bucket.key(key))
    with target.open("wb") as file:
        shutil.copyfileobj(answer["Body"], file, MB)


@contextmanager
def slow_line(endpoint: str) -> Iterator[str]:
    """The endpoint behind a line on which each connection is slow, however many there are."""
    place = urlsplit(endpoint)
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(256 * 1024):
                time.sleep(len(data) / (STREAM_MB_S * MB))
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((str(place.hostname), int(place.port or 80)))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()
