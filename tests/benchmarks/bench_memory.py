"""Peak memory of every step of a quickstart iteration, reported without a goal."""

from tests.benchmarks.harness import Row
from tests.benchmarks.measured import by_step, measured


def rows() -> list[Row]:
    """MiB of the step's process and of its largest child together."""
    return [
        Row(
            name=f"peak memory, {step}", ours=found["peak_memory_mib"], other=None, unit="MiB",
            ratio=None, goal=None, met=None, note="one step of the quickstart's iteration",
        )
        for step, found in sorted(by_step(measured().metrics).items())
    ]  # fmt: skip
