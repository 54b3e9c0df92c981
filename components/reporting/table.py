"""The run as a text table: one line per iteration, then the same team with policies swapped."""

from collections.abc import Mapping, Sequence

from components.aligned import aligned
from components.reporting.summary import IterationRow, Result, RunSummary, series

MISSING = "-"


def text_table(summary: RunSummary) -> str:
    """Aligned columns, without a trailing newline; one sentence if nothing was committed."""
    if not summary.rows:
        return f"run {summary.run}: no committed iteration"
    lines = [header(summary), *(line(row, summary) for row in summary.rows)]
    swapped = summary.final.get("validation/swapped")
    if swapped:
        each = [summary.final.get(f"validation/swapped/{name}") for name in several(summary)]
        name = f"{summary.final_iteration} swapped" if summary.overtaken else "swapped"
        lines.append([name, *_measured(swapped, each, len(summary.roles))])
    return "\n".join(aligned(lines, left={-1}))


def policy_lines(summary: RunSummary) -> list[str]:
    """One line per policy of the last iteration: what its update had to go by, and how far it
    moved; no lines before the first update."""
    metrics = summary.rows[-1].metrics if summary.rows else {}
    changed = series(metrics, "update", "num_samples")
    return [
        _policy(summary, metrics, policy)
        for policy in summary.config.trainable
        if policy in changed
    ]


def header(summary: RunSummary) -> list[str]:
    """Names of the columns."""
    interval = f"{summary.config.evaluation.confidence:.0%} interval"
    measured = ["success", interval, *several(summary), "turns"]
    return ["iteration", *measured, *(f"r({role})" for role in summary.roles), "steps"]


def several(summary: RunSummary) -> list[str]:
    """The environments, if there are several: each has a column with its success."""
    names = list(summary.config.environments)
    return names if len(names) > 1 else []


def line(row: IterationRow, summary: RunSummary) -> list[str]:
    """The cells of one iteration."""
    each = [row.held_out.get(f"validation/{name}") for name in several(summary)]
    return [
        str(row.iteration),
        percent(row.success),
        interval(row.low, row.high),
        *(percent(result.success if result else None) for result in each),
        number(row.turns_mean, 2),
        *(number(row.reward.get(role), 3) for role in summary.roles),
        " ".join(f"{step} {spent:.1f}s" for step, spent in row.step_s.items()) or MISSING,
    ]


def percent(value: float | None) -> str:
    """`93.5 %`."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def interval(low: float | None, high: float | None) -> str:
    """`89.2 - 96.2`, in per cent."""
    return MISSING if low is None or high is None else f"{100 * low:.1f} - {100 * high:.1f}"


def number(value: float | None, digits: int) -> str:
    """A value with a fixed number of decimals."""
    return MISSING if value is None else f"{value:.{digits}f}"


def _policy(summary: RunSummary, metrics: Mapping[str, float], policy: str) -> str:
    update = f"update/{policy}"
    adapter = summary.config.policies[policy].lora is not None
    groups = ", ".join(
        f"{int(metrics.get(f'grouping/{role}/num_groups', 0))} groups as {role}, "
        f"{percent(metrics.get(f'grouping/{role}/frac_reward_zero_std'))} without variance"
        for role, player in summary.config.roles.items()
        if player == policy
    )
    if not metrics.get(f"{update}/num_samples"):
        return f"{policy}: no samples with a signal, {groups}; weights unchanged"
    return (
        f"{policy}: {int(metrics[f'{update}/num_samples'])} samples, {groups}; "
        f"{'adapter' if adapter else 'weights'} changed by "
        f"{metrics[f'{update}/weights_changed']:.3g} of {metrics[f'{update}/weights_norm']:.4g} "
        f"(norms); log-prob mismatch {metrics[f'{update}/logprob_mismatch']:.2g}"
    )


def _measured(result: Result, each: Sequence[Result | None], num_roles: int) -> list[str]:
    return [
        percent(result.success),
        interval(result.low, result.high),
        *(percent(part.success if part else None) for part in each),
        number(result.turns_mean, 2),
        *([MISSING] * num_roles),
        f"{result.num_tasks} tasks",
    ]
