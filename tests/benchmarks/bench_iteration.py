"""Where one iteration of the quickstart spends its time: wall seconds by kind of work.

The goals concern what is neither play nor training: runner, storage and tracking together, and
the CPU seconds that processes take to start.
"""

from collections.abc import Mapping

from tests.benchmarks.harness import Row, within
from tests.benchmarks.measured import Measured, by_step, measured

OVERHEAD_SHARE = 0.2
START_CPU_S = 20.0
OVERHEAD = ("runner", "storage", "tracking")


def rows() -> list[Row]:
    """Seconds and share of every kind; both goals."""
    found = measured()
    parts = split(found.metrics, found.wall_s)
    share = sum(parts[name] for name in OVERHEAD) / found.wall_s
    return [
        *(part_row(name, value, found.wall_s) for name, value in parts.items()),
        within(f"iteration, {' + '.join(OVERHEAD)}", share, OVERHEAD_SHARE, "of its wall time",
               f"a limit, not a peer; of its CPU time: {overhead_cpu_share(found):.3f}"),
        within("iteration, process starts", start_cpu_s(found.metrics), START_CPU_S, "CPU s",
               f"a limit, not a peer; all of the iteration: {found.cpu_s:.1f} CPU s"),
    ]  # fmt: skip


def part_row(name: str, spent: float, whole: float) -> Row:
    """A part of the iteration; reported without a goal."""
    return Row(
        name=f"iteration, {name}", ours=spent, other=whole, unit="s", ratio=None, goal=None,
        met=None, note=f"{spent / whole:.1%} of the iteration",
    )  # fmt: skip


def split(metrics: Mapping[str, float], wall_s: float) -> dict[str, float]:
    """Wall seconds by kind; they add up to the iteration's.

    Policies are updated side by side, so their engines' loads count once, the longest.
    """
    steps = by_step(metrics)

    def total(name: str) -> float:
        return sum(step.get(name, 0.0) for step in steps.values())

    loads = max(matching(metrics, "update/", "/load_s"), default=0.0)
    update = steps["update"]
    parts = {
        "generation": metrics["rollout/generate_s"],
        "environment": metrics["rollout/environment_s"],
        "evaluation": sum(matching(metrics, "evaluation/", "/generate_s"))
        + sum(matching(metrics, "evaluation/", "/environment_s")),
        "update": update["wall_s"] - update["load_s"] - update["storage_s"] - loads,
        "process starts": total("start_s") + total("load_s") + loads,
        "storage": total("storage_s"),
        "tracking": total("tracking_s"),
    }
    inside = total("start_s") + total("wall_s")
    return parts | {
        "other work of the steps": inside - sum(parts.values()),
        "runner": wall_s - inside,
    }


def start_cpu_s(metrics: Mapping[str, float]) -> float:
    """Interpreters, imports and engines of all steps and jobs: CPU seconds."""
    steps = by_step(metrics).values()
    own = sum(step["start_cpu_s"] + step.get("load_cpu_s", 0.0) for step in steps)
    return own + sum(matching(metrics, "update/", "/load_cpu_s"))


def overhead_cpu_share(found: Measured) -> float:
    """Of runner, storage and tracking, which a busy machine changes less than the wall's."""
    steps = by_step(found.metrics).values()
    inside = sum(step["start_cpu_s"] + step["cpu_s"] for step in steps)
    kinds = sum(step["storage_cpu_s"] + step.get("tracking_cpu_s", 0.0) for step in steps)
    return (found.cpu_s - inside + kinds) / found.cpu_s


def matching(metrics: Mapping[str, float], prefix: str, suffix: str) -> list[float]:
    """Values of the names that begin and end so."""
    return [
        value for name, value in metrics.items()
        if name.startswith(prefix) and name.endswith(suffix)
    ]  # fmt: skip
