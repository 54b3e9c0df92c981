"""vLLM's own OpenAI-compatible servers of a team as processes of this machine.

They are started with the commands that `export` and `serve-manifest` name, and what a CPU needs
besides. They end with whoever started them, however that ends.
"""

import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from components.errors import ConfigError, RolewiseError
from components.process import die_with_parent
from components.rollout.server_client import ServerClient

_GRACE_S = 20.0
_ENVIRONMENT = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
_CPU_ENVIRONMENT = {"TORCH_COMPILE_DISABLE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


@dataclass(frozen=True)
class Plan:
    """One server to start."""

    roles: tuple[str, ...]
    words: list[str]
    """Arguments of `vllm serve`, but for its address."""
    kv_cache_mib: int
    """On CPUs."""


@dataclass
class Running:
    """One server that was started."""

    roles: tuple[str, ...]
    url: str
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


@contextmanager
def serving(
    plans: Sequence[Plan], folder: Path, host: str, port: int, key: str | None = None
) -> Iterator[list[Running]]:
    """Start the servers and stop them at the end, also after an error or Ctrl-C.

    Args:
        folder: for their logs.
        port: of the first; 0: any that is free.
        key: that clients must show; handed over by the environment, never by the command line.

    ConfigError if a port is taken; RolewiseError if vLLM is not installed.
    """
    started: list[Running] = []
    ports = _ports(host, port, len(plans))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for plan, chosen in zip(plans, ports, strict=True):
            started.append(_start(plan, folder, host, chosen, key))
        yield started
    finally:
        stop(started)


def await_all(running: Sequence[Running], key: str | None, patience_s: float) -> None:
    """Wait until all answer. RolewiseError with the last words of one that ended or hangs."""
    end = time.monotonic() + patience_s
    waiting = [(server, ServerClient(server.url, key)) for server in running]
    while waiting:
        waiting = [pair for pair in waiting if not pair[1].is_ready()]
        for server, _ in waiting:
            if server.ended or time.monotonic() > end:
                what = "ended" if server.ended else f"has not answered for {patience_s:g} s"
                raise RolewiseError(
                    f"the server of {', '.join(server.roles)} {what}: {last_words(server.log)}; "
                    f"see {server.log}"
                )
        time.sleep(0.3)


def watch(running: Sequence[Running], pause: Callable[[float], None] = time.sleep) -> None:
    """Until one of them ends: RolewiseError with its last words."""
    while True:
        for server in running:
            if server.ended:
                raise RolewiseError(
                    f"the server of {', '.join(server.roles)} ended: {last_words(server.log)}"
                )
        pause(0.5)


def stop(running: Sequence[Running]) -> None:
    """End all, with what they started: asked first, then killed."""
    for server in running:
        _signal(server, signal.SIGTERM)
    end = time.monotonic() + _GRACE_S
    for server in running:
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(max(0.1, end - time.monotonic()))
        _signal(server, signal.SIGKILL)  # also what outlives its leader
        server.process.wait()


def last_words(log: Path) -> str:
    """The last line that names an error, else the last one."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line]
    return (errors or lines or ["it said nothing"])[-1][-300:]


def command(plan: Plan, host: str, port: int) -> list[str]:
    """The whole command line of one server."""
    weights, *words = plan.words
    server = [
        sys.executable,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        weights,
        *words,
    ]
    return [*server, "--host", host, "--port", str(port), *(_cpu_words(plan) if on_cpu() else [])]


def on_cpu() -> bool:
    """Whether the installed vLLM is the CPU's. RolewiseError if there is none."""
    for name in ("vllm-cpu", "vllm"):
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return name == "vllm-cpu"
    raise RolewiseError("vLLM is not installed; install the dependency group `rollout`")


def _cpu_words(plan: Plan) -> list[str]:
    """As in training on CPUs: nothing compiled, small pages, prompts never cut in pieces."""
    return [
        "--enforce-eager", "--kv-cache-memory-bytes", str(plan.kv_cache_mib << 20),
        "--block-size", "32", "--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192",
    ]  # fmt: skip


def _start(plan: Plan, folder: Path, host: str, port: int, key: str | None) -> Running:
    log = folder / f"{plan.roles[0]}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command(plan, host, port), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            env=_environment(os.environ, key), start_new_session=True, preexec_fn=die_with_parent,
        )  # fmt: skip
    return Running(plan.roles, f"http://{host}:{port}", log, process)


def _environment(given: Mapping[str, str], key: str | None) -> dict[str, str]:
    environment = {**given, **_ENVIRONMENT, **(_CPU_ENVIRONMENT if on_cpu() else {})}
    environment.setdefault("OMP_NUM_THREADS", "1")
    return environment | ({"VLLM_API_KEY": key} if key else {})


def _signal(server: Running, number: int) -> None:
    """To the server and all that it started: they are one process group."""
    with suppress(ProcessLookupError):
        os.killpg(server.process.pid, number)


def _ports(host: str, first: int, count: int) -> list[int]:
    """Ports that are free now, held side by side while they are looked for."""
    wanted = [first + number if first else 0 for number in range(count)]
    held: list[socket.socket] = []
    try:
        for port in wanted:
            held.append(_hold(host, port))
        return [item.getsockname()[1] for item in held]
    finally:
        for item in held:
            item.close()


def _hold(host: str, port: int) -> socket.socket:
    item = socket.socket()
    item.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        item.bind((host, port))
    except (OSError, OverflowError) as error:
        item.close()
        reason = getattr(error, "strerror", None) or "the highest port is 65535"
        raise ConfigError(
            f"--port: {host}:{port} cannot be had ({reason}); choose another, or 0 for any"
        ) from error
    return item
