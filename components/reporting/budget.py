"""What a run spent: generated candidates, tokens, CPU and GPU hours, money, by step manifests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.reporting.summary import FINAL, RunSummary

HOUR = 3600.0


@dataclass(frozen=True)
class Hardware:
    """What the steps were given, from a profile; nothing: CPUs alone."""

    gpus: Mapping[str, int] = field(default_factory=dict)
    """step -> devices; a step that is not named has none."""
    price_per_hour: Mapping[str, float] = field(default_factory=dict)
    """step -> price of one device; without it the hours are not priced."""


@dataclass(frozen=True)
class Spent:
    """By one run, up to its last iteration; the closing evaluation is left out."""

    candidates: int
    """Generated in training: the sampling budget."""
    tokens: int
    """Generated in training."""
    held_out_tokens: int
    """Generated in evaluations."""
    wall_h: float
    """Inside the steps."""
    cpu_h: float
    gpu_h: float
    money: float | None
    """None where a step with GPUs has no price, or no step has any."""


def candidates_by_iteration(summary: RunSummary) -> list[int]:
    """[num_rows] generated in training up to each team."""
    total, found = 0, []
    for row in summary.rows:
        total += int(row.metrics.get("grouping/num_samples", 0))
        found.append(total)
    return found


def spent(summary: RunSummary, hardware: Hardware) -> Spent:
    """The sums over a run's rows."""
    metrics = [row.metrics for row in summary.rows]
    seconds = [item for row in summary.rows for item in row.step_s.items() if item[0] not in FINAL]
    gpu_s = {step: 0.0 for step, _ in seconds}
    for step, wall_s in seconds:
        gpu_s[step] += wall_s * hardware.gpus.get(step, 0)
    used = {step: busy / HOUR for step, busy in gpu_s.items() if busy > 0.0}
    priced = bool(used) and all(step in hardware.price_per_hour for step in used)
    prices = hardware.price_per_hour
    return Spent(
        candidates=sum(int(item.get("grouping/num_samples", 0)) for item in metrics),
        tokens=sum(int(item.get("rollout/num_tokens", 0)) for item in metrics),
        held_out_tokens=sum(_held_out_tokens(item) for item in metrics),
        wall_h=sum(wall_s for _, wall_s in seconds) / HOUR,
        cpu_h=sum(_cpu_s(item) for item in metrics) / HOUR,
        gpu_h=sum(used.values()),
        money=sum(hours * prices[step] for step, hours in used.items()) if priced else None,
    )


def _held_out_tokens(metrics: Mapping[str, float]) -> int:
    """Of benchmarks as a whole: `evaluation/<benchmark>/num_tokens`."""
    names = [name for name in metrics if name.startswith("evaluation/")]
    return int(sum(metrics[name] for name in names if name.endswith("/num_tokens")))


def _cpu_s(metrics: Mapping[str, float]) -> float:
    """`cpu_s` and `start_cpu_s` of every step; the parts `<kind>_cpu_s` are inside `cpu_s`."""
    parts = [name.split("/") for name in metrics if name.startswith("system/")]
    wanted = ["/".join(part) for part in parts if part[-1] in ("cpu_s", "start_cpu_s")]
    return sum(metrics[name] for name in wanted)
