"""Made-up runs of several seeds and settings, over the run of made_up.py."""

from dataclasses import replace
from typing import Any

from components.intervals import wilson
from components.reporting.signal import Signal
from components.reporting.summary import Result, RunSummary
from tests.components.reporting.made_up import make_summary


def make_run(seed: int = 0, shift: int = 0, **sections: Any) -> RunSummary:
    """A run with another seed, `shift` more tasks solved by each team, and other settings."""
    summary = make_summary()
    config = summary.config.model_copy(update={"seed": seed})
    for name, values in sections.items():
        own = getattr(config, name)
        new = own.model_copy(update=values) if hasattr(own, "model_copy") else values
        config = config.model_copy(update={name: new})
    rows = [_row(row, shift) for row in summary.rows]
    run = f"{config.name}-{config.digest()[:8]}"
    return replace(summary, run=run, config=config, rows=rows)


def _row(row: Any, shift: int) -> Any:
    solved = min(round(200 * row.success) + shift, 200)
    rate, low, high = wilson(solved, 200)
    result = Result(rate, low, high, row.turns_mean, 200)
    signals = [Signal(role, 0, 96, 384, 0.1, 0.4, 4, 4) for role in ("tool", "planner")]
    metrics = dict(row.metrics)
    if row.iteration:
        metrics |= {"rollout/num_tokens": 5000.0, "system/rollout/cpu_s": 10.0}
    return replace(
        row, success=rate, low=low, high=high, metrics=metrics, turns_to_solve=row.turns_mean,
        held_out={**row.held_out, "validation": result}, signals=signals if row.iteration else (),
    )  # fmt: skip
