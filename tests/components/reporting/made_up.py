"""A made-up run that learns: what a report is looked at and tested with."""

from typing import Any

from components.config import parse_config
from components.intervals import wilson
from components.reporting.summary import IterationRow, Result, RunSummary, rewards

SUCCESS = [12, 20, 43, 81, 120, 148, 163, 174, 181, 186, 187]
"""Solved of 200, by iteration."""


def make_result(solved: int, turns: float = 1.5) -> Result:
    rate, low, high = wilson(solved, 200)
    return Result(rate, low, high, turns, 200)


def make_metrics(i: int) -> dict[str, float]:
    """What iteration i's steps would log."""
    metrics = {
        "rollout/tokens_per_s": 8000.0 + 150 * (i % 4),
        "grouping/num_groups": 500.0 - 15 * i,
    }
    metrics |= {"grouping/num_samples": 2000.0 - 60 * i, "grouping/num_failed": float(i % 3)}
    metrics |= {"grouping/num_starved": 0.0, "grouping/num_violations": 0.0}
    for shift, name in enumerate(("tool", "planner")):
        metrics[f"rollout/{name}/reward/mean"] = 0.2 + 0.1 * shift + 0.14 * i - 0.006 * i * i
        metrics[f"grouping/{name}/frac_reward_zero_std"] = 0.55 - 0.05 * shift - 0.02 * i
        metrics[f"update/{name}/kl"] = 0.0021 + 0.0004 * shift + 0.0001 * (i % 3)
        metrics[f"update/{name}/clip_ratio"] = 0.041 - 0.002 * i + 0.01 * shift
        metrics[f"update/{name}/entropy"] = 1.1 - 0.08 * i + 0.1 * shift
        metrics[f"update/{name}/grad_norm"] = 0.9 - 0.03 * i + 0.2 * shift
    return metrics


def make_iteration(i: int, **changes: Any) -> IterationRow:
    result = make_result(SUCCESS[i], 3.6 - 0.21 * i)
    metrics = make_metrics(i) if i else {}
    steps = {"rollout": 9.4, "group": 0.4, "update": 14.2 + 0.3 * i, "commit": 0.7}
    values = {
        "iteration": i, "success": result.success, "low": result.low, "high": result.high,
        "turns_mean": result.turns_mean, "metrics": metrics,
        "reward": rewards(metrics), "held_out": {"validation": result},
        "step_s": steps if i else {"initialise": 3.1, "warm_start": 41.0, "commit": 0.6},
    }  # fmt: skip
    return IterationRow(**(values | changes))


def make_summary(**changes: Any) -> RunSummary:
    policies = {name: {"base": "init://", "init": {}} for name in ("tool", "planner")}
    config = parse_config(
        {
            "name": "quickstart", "env": {"name": "plan_path"}, "policies": policies,
            "roles": {"tool": "tool", "planner": "planner"}, "iterations": 10,
        }
    )  # fmt: skip
    final = {
        "validation": make_result(187, 1.6), "validation/reference": make_result(12, 3.6),
        "validation/swapped": make_result(9, 3.7), "test": make_result(183, 1.6),
    }  # fmt: skip
    reason = "success changes by +87.5 points against the initial team on 200 validation tasks"
    asked = {"from": None, "to": "made_up@8", "when": "2026-01-01"}
    verdict = asked | {
        "promoted": True,
        "reasons": [reason],
        "gain": 0.875,
        "low": 0.81,
        "high": 0.91,
    }
    rows = [make_iteration(i) for i in range(len(SUCCESS))]
    rows[-1] = make_iteration(len(SUCCESS) - 1, held_out=final)
    values = {"run": "quickstart-1a2b3c4d", "config": config, "rows": rows, "final": final}
    return RunSummary(**(values | {"verdict": verdict} | changes))
