"""A Docker Engine for a test: the one that answers, else one of our own on a private socket.

An engine of our own needs root and `dockerd`; it gets no bridge and no firewall rules, so its
networks are `none` and `host`. It is stopped by its pid, and its data are deleted.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

START_S = 30.0
STOP_S = 30.0
PROGRAMS = {"docker.io": "dockerd"}
"""Debian package -> its program, where that has another name."""


class NoEngine(Exception):
    """No Docker Engine runs or can be started here; the text says why."""


@contextmanager
def docker_engine(folder: Path) -> Iterator[dict[str, str]]:
    """Environment variables with which docker reaches an engine. NoEngine if there is none."""
    if answers(os.environ):
        yield {}
        return
    install("docker.io")
    process = _start(folder)
    try:
        yield {"DOCKER_HOST": f"unix://{folder}/docker.sock"}
    finally:
        _stop(process, folder)


def answers(environment: Mapping[str, str]) -> bool:
    """Whether a Docker Engine answers the client."""
    if not shutil.which("docker"):
        return False
    command = ["docker", "version", "--format", "{{.Server.Version}}"]
    ended = subprocess.run(command, env={**environment}, capture_output=True, timeout=60)
    return ended.returncode == 0


def install(package: str) -> None:
    """Install a Debian package if its program is missing. NoEngine without root or apt-get."""
    if os.geteuid() != 0:
        raise NoEngine(f"{package} needs root, and this is user {os.geteuid()}")
    if shutil.which(PROGRAMS.get(package, package)):
        return
    if not shutil.which("apt-get"):
        raise NoEngine(f"{package} is missing, and so is apt-get")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--no-install-recommends", package]):
        command = ["apt-get", "-qq", "-y", *words]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        if ended.returncode:
            raise NoEngine(f"apt-get {' '.join(words)}: {_last_line(ended.stderr)}")


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
        "--host", f"unix://{folder}/docker.sock", "--pidfile", f"{folder}/docker.pid",
        "--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-masq=false",
    ]  # fmt: skip
    log = folder / "dockerd.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        if answers(os.environ | {"DOCKER_HOST": f"unix://{folder}/docker.sock"}):
            return process
        time.sleep(0.2)
    reason = _last_line(log.read_text(errors="replace"))
    _stop(process, folder)
    raise NoEngine(f"dockerd did not come up: {reason}")


def _stop(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """End dockerd (it ends its containerd), then free and delete what it leaves."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    subprocess.run(["umount", f"{folder}/exec/netns/default"], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"
