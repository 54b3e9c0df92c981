"""The step `group`: scored answers in, training samples and their certificate out."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components import records
from components.config import ExperimentConfig
from components.errors import RecordError
from components.grouping.certificate import build
from components.grouping.groups import by_episode, check_sizes, find_groups, make_samples
from components.grouping.page import render
from components.grouping.routing import check_routing
from components.records import Sample, Scored
from components.step import StepContext, run_step

REPORTED = ("frac_reward_zero_std", "num_groups", "num_failed", "num_singletons", "num_starved")
"""Of each role's totals, as metrics `grouping/<role>/<name>`."""


def group(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Read `scored`; write `samples`, `certificate` (JSON) and `html`.

    Violations are written into the certificate and printed; the update refuses to start on them.
    RecordError if no answer was scored, a row names another policy than its role's, a reward is
    not finite, or a tree group has one row.
    """

    def compute(context: StepContext) -> dict[str, float]:
        certificate = compute_groups(context.config, inputs["scored"], outputs["samples"])
        certificate = certificate | {"run": run, "iteration": iteration}
        for line in certificate["violations"]:
            print(f"violation: {line}", file=sys.stderr, flush=True)
        _write_json(outputs["certificate"], certificate)
        Path(outputs["html"]).write_text(render(certificate, run, iteration), encoding="utf-8")
        return metrics(certificate)

    return run_step("group", config, run, iteration, inputs, outputs, compute)


def compute_groups(config: ExperimentConfig, scored: str, samples: str) -> dict[str, Any]:
    """Write the Sample table of a Scored table and return its certificate."""
    table = records.read(scored, Scored)
    if table.num_rows == 0:
        raise RecordError(
            f"{scored}: scored has no rows, expected at least one answer; "
            "see the episodes' status: every episode may have ended before its first answer"
        )
    check_routing(table, config.roles)
    if config.grouping.credit == "episode":
        table = by_episode(table)
    groups = find_groups(table, config.grouping.key, config.grouping.std_ddof or 0)
    check_sizes(table, groups, config.rollout)
    records.write(samples, Sample, make_samples(table, groups, config.grouping, config.rollout))
    return build(table, groups, config.grouping, config.rollout)


def metrics(certificate: Mapping[str, Any]) -> dict[str, float]:
    """Per role and over all roles, with the number of violations; of several environments also
    the groups without a signal in each."""
    totals = certificate["totals"]
    per_role = {
        f"grouping/{role}/{name}": float(item[name])
        for role, item in totals.items()
        for name in REPORTED
    }
    counts = {
        f"grouping/{name}": float(sum(item[name] for item in totals.values()))
        for name in ("num_groups", "num_samples", "num_failed", "num_singletons", "num_starved")
    }
    apart = {
        f"grouping/{env}/frac_reward_zero_std/{role}": float(item["frac_reward_zero_std"])
        for env, found in certificate.get("totals_by_environment", {}).items()
        for role, item in found.items()
    }
    violations = {"grouping/num_violations": float(len(certificate["violations"]))}
    return per_role | counts | apart | violations


def _write_json(path: str, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    Path(path).write_text(text, encoding="utf-8")
