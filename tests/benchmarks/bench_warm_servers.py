"""A rollout step of one iteration, cold against a warm server: from its process's start to its last
token, with new weights each time. Tiny model, on CPUs; both take turns.
"""

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from components.policies import PolicyRef
from components.rollout.server_client import ServerClient
from tests.benchmarks.harness import Row, row
from tests.components.rollout_engines.tiny_team import make_policy, make_store
from tests.components.rollout_server.real import Real, real_server

REPEATS = 2
GOAL = 1.5


@dataclass(frozen=True)
class Step:
    """One step's cost."""

    wall_s: float
    cpu_s: float
    """Of its process, and of the server for as long as it ran."""
    load_s: float
    ids: list[list[int]]


def rows() -> list[Row]:
    """Wall and CPU seconds of a step, the load alone, and what the server's start costs once."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        store = make_store(folder / "store")
        refs = [make_policy(store, folder, f"p{k}", k, 3.0) for k in range(REPEATS + 1)]
        begun = time.perf_counter()
        with real_server(store, folder, refs[-1]) as real:
            start_s = time.perf_counter() - begun
            pairs = [(run(folder, ref, real), run(folder, ref, None)) for ref in refs[:REPEATS]]
    equal = all(warm.ids == cold.ids for warm, cold in pairs)
    note = f"against opening vLLM in the step; answers {'equal' if equal else 'DIFFERENT'}"
    return [
        _row("wall time", [(w.wall_s, c.wall_s) for w, c in pairs], GOAL, note),
        _row("CPU time, server included", [(w.cpu_s, c.cpu_s) for w, c in pairs], GOAL, note),
        _row("until the weights are loaded", [(w.load_s, c.load_s) for w, c in pairs], None, note),
        Row(name="warm server, its own start", ours=start_s, other=None, unit="s", ratio=None,
            goal=None, met=None, note="once per run, before the first iteration"),
    ]  # fmt: skip


def _row(name: str, pairs: list[tuple[float, float]], goal: float | None, note: str) -> Row:
    warm, cold = min(w for w, _ in pairs), min(c for _, c in pairs)
    return row(f"rollout step, warm server, {name}", warm, cold, goal, "s", note)


def run(folder: Path, ref: PolicyRef, real: Real | None) -> Step:
    """A step as a process, to its end."""
    client: ServerClient | None = real.client if real else None
    server = [client.url, client._headers["Authorization"].split()[1]] if client else []
    words = [str(folder / "store"), str(folder / "cache"), json.dumps(ref.to_json()), *server]
    command = [sys.executable, "-m", "tests.benchmarks.served_step", *words]
    cpu, begun = _cpu_s(real), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall_s, cpu_s = time.perf_counter() - begun, _cpu_s(real) - cpu
    found = json.loads(done.stdout.splitlines()[-1])
    return Step(wall_s, cpu_s, found["load_s"], found["ids"])


def _cpu_s(real: Real | None) -> float:
    """Of all children that ended, and of the server's processes."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = ended.ru_utime + ended.ru_stime
    if real is not None:
        keeper = psutil.Process(real.place.pid(real.server.name))
        for process in (keeper, *keeper.children(recursive=True)):
            times = process.cpu_times()
            total += times.user + times.system
    return total
