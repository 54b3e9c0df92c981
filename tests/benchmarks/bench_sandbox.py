"""The sandbox beside a plain `python -I`: programs per second, cores, and the speed inside.

Both sides take turns in one run. A trivial program is timed by the clock, for it is the wait that
counts; a CPU-bound program times itself by its CPU seconds.
"""

import os
import statistics
import subprocess
import sys

from envs.sandbox import Outcome, Run, Sandbox, SandboxOptions, probe
from tests.benchmarks.harness import Row, row, seconds

TRIVIAL = Run("print('hi')")
ROUNDS, NUM_SERIAL, NUM_PLAIN, NUM_PARALLEL = 5, 60, 12, 200
BUSY = """
import time
started = time.process_time()
total = 0
table = {}
for number in range(300000):
    total += number * number % 7
    table[number % 1000] = total
words = sorted(str(n) for n in range(50000))
print(time.process_time() - started)
"""


def rows() -> list[Row]:
    """Serially, on all cores, CPU-bound."""
    options = SandboxOptions(cpu_s=10, wall_s=60, accept_missing=probe().missing)
    sandbox = Sandbox(options)
    try:
        sandbox.run_many([TRIVIAL] * 32)
        return [trivial(sandbox), parallel(sandbox), busy(sandbox)]
    finally:
        sandbox.close()


def trivial(sandbox: Sandbox) -> Row:
    """One at a time: programs per second."""
    ours, other = [], []
    for _ in range(ROUNDS):
        ours.append(NUM_SERIAL / seconds(lambda: [check(sandbox) for _ in range(NUM_SERIAL)]))
        other.append(NUM_PLAIN / seconds(lambda: [plain("pass") for _ in range(NUM_PLAIN)]))
    return row(
        "sandboxed print('hi'), one at a time", statistics.median(ours), statistics.median(other),
        1.0, "/s", "`python -I -c pass`", higher_is_better=True,
    )  # fmt: skip


def parallel(sandbox: Sandbox) -> Row:
    """All cores against one, in a batch."""
    cores = len(os.sched_getaffinity(0))
    one, many = [], []
    for _ in range(ROUNDS):
        for workers, rates in ((1, one), (cores, many)):
            batch = [TRIVIAL] * NUM_PARALLEL
            taken = seconds(lambda: sandbox.run_many(batch, workers))  # noqa: B023
            rates.append(NUM_PARALLEL / taken)
    goal = 0.6 * cores if cores > 1 else 1.0
    return row(
        f"sandboxed print('hi'), {cores} cores", max(many), max(one), goal, "/s",
        "the same, one at a time", higher_is_better=True,
    )  # fmt: skip


def busy(sandbox: Sandbox) -> Row:
    """CPU seconds that the program counts itself."""
    inside, outside = [], []
    for _ in range(ROUNDS):
        inside.append(float(sandbox.run(Run(BUSY)).stdout))
        outside.append(float(plain(BUSY)))
    return row(
        "CPU-bound program, inside",
        min(inside),
        min(outside),
        0.95,
        "s CPU",
        "outside, `python -I`",
    )


def check(sandbox: Sandbox) -> None:
    """Every run counted is a run that worked."""
    result = sandbox.run(TRIVIAL)
    if (result.outcome, result.stdout) != (Outcome.OK, "hi\n"):
        raise RuntimeError(f"expected OK and hi, got {result}")


def plain(program: str) -> str:
    """What it prints in an interpreter of its own."""
    interpreter = getattr(sys, "_base_executable", sys.executable)
    return subprocess.run(
        [interpreter, "-I", "-c", program], capture_output=True, text=True, check=True
    ).stdout
