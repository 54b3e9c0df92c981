"""The final evaluation: the state's team, its reference, the swapped team, and the test split.

All teams play the same validation tasks greedily in one engine. The test split is played by the
candidate alone: it is reported and never chooses a model.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from components import records
from components.answers import keep_answers
from components.engine import Engine
from components.env_execution.boards import deal
from components.env_execution.environments import (
    held_out_tasks,
    open_benchmark,
    open_environments,
)
from components.env_execution.rules import evaluation_rules, evaluation_sampling
from components.evaluation.report import benchmark_reports, full_report
from components.evaluation.teams import Contest, contest, join
from components.members import Member
from components.policies import Team
from components.records import Episode
from components.rollout.main import benchmark_metrics, engine_for
from components.rollout.play import Played, play_boards
from envs.base import Split

if TYPE_CHECKING:
    from components.config import ExperimentConfig
    from components.step import StepContext


GAINS = {"gain": "estimate", "gain_low": "low", "gain_high": "high"}
"""Metric -> its place in a difference."""


class Benchmark(NamedTuple):
    """What one team played, and in which environments."""

    members: Sequence[Member]
    played: Played


def evaluate(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Play and report. inputs: state. outputs: evaluation (all benchmarks), report (JSON).

    The reference is looked up before the step, and is part of what decides its result.
    """
    from components.config import parse_config
    from components.state import load_state
    from components.step import announcing_errors, run_step

    with announcing_errors("evaluate", run, iteration):
        parsed = parse_config(config)
        meeting = contest(parsed, load_state(inputs["state"]), _champion(parsed))

    def compute(step: "StepContext") -> Mapping[str, float]:
        members = open_environments(step.config)
        team, routes = join(meeting.teams)
        with engine_for(step, team) as engine:
            played = play_benchmarks(step, engine, members, routes)
        return _write(step, members, meeting, played, outputs)

    extra = {role: meeting.reference.of(role).tag for role in sorted(meeting.reference.roles)}
    return run_step("evaluate", config, run, iteration, inputs, outputs, compute, extra=extra)


def play_benchmarks(
    step: "StepContext",
    engine: Engine,
    members: Sequence[Member],
    routes: Mapping[str, Mapping[str, str]],
) -> dict[str, Benchmark]:
    """Benchmark -> what was played: `validation`, `validation/<other team>`, `test`, and those
    that the configuration names."""

    def played(name: str, where: Sequence[Member], split: Split, team: str) -> Benchmark:
        rules = evaluation_rules(step.config, routes[team])
        boards = deal(where, held_out_tasks(where, split), rules, name)
        sampling = evaluation_sampling(step.config)
        return Benchmark(where, play_boards(engine, boards, sampling, "evaluate"))

    found = {}
    for team in routes:
        name = "validation" if team == "candidate" else f"validation/{team}"
        found[name] = played(name, members, Split.VALIDATION, team)
    if step.config.evaluation.test:
        found["test"] = played("test", members, Split.TEST, "candidate")
    for name, chosen in step.config.evaluation.benchmarks.items():
        other = [open_benchmark(step.config, name)]
        found[name] = played(name, other, Split(chosen.split), "candidate")
    return found


def _write(
    step: "StepContext",
    members: Sequence[Member],
    meeting: Contest,
    played: Mapping[str, Benchmark],
    outputs: Mapping[str, str],
) -> Mapping[str, float]:
    confidence = step.config.evaluation.confidence
    benchmarks: dict[str, Any] = {}
    for name, (where, item) in played.items():
        benchmarks |= benchmark_reports(name, where, item.episodes, item.scored, confidence)
        keep_answers(step, name, item.scored)
    report = full_report(meeting, members, benchmarks, confidence)
    report |= {"run": step.run, "iteration": step.iteration}
    Path(outputs["report"]).write_text(json.dumps(report, indent=1, sort_keys=True))
    episodes = [episode for item in played.values() for episode in item.played.episodes]
    records.write(outputs["evaluation"], Episode, episodes)
    metrics: dict[str, float] = {}
    for name, (where, item) in played.items():
        metrics |= benchmark_metrics(item, name, step, where)
    for name, gain in report["differences"].items():
        if name.split("/")[0] == "reference":
            prefix = f"evaluation/validation{name.removeprefix('reference')}"
            metrics |= {f"{prefix}/{word}": gain[key] for word, key in GAINS.items()}
    return metrics


def _champion(config: "ExperimentConfig") -> Team | None:
    """The registered champion of the configured team; None if there is none yet."""
    from components.tracking.registry import champion

    manifest = champion(config)
    return None if manifest is None else manifest.playing
