"""The final evaluation: the state's team, its reference, the swapped team, and the test split.

All teams play the same validation tasks greedily in one engine. The test split is played by the
candidate alone: it is reported and never chooses a model.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from components import records
from components.engine import Engine
from components.env_execution.rules import (
    evaluation_rules,
    evaluation_sampling,
    evaluation_tasks,
    open_benchmark,
    open_environment,
)
from components.evaluation.report import benchmark_report, full_report
from components.evaluation.teams import Contest, contest, join
from components.policies import Team
from components.records import Episode
from components.rollout.main import benchmark_metrics, engine_for
from components.rollout.play import Played, play
from envs.base import Environment, Split

if TYPE_CHECKING:
    from components.config import ExperimentConfig
    from components.step import StepContext


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
        env = open_environment(step.config)
        team, routes = join(meeting.teams)
        with engine_for(step, team) as engine:
            played = play_benchmarks(step, engine, env, routes)
        return _write(step, env, meeting, played, outputs)

    extra = {role: meeting.reference.of(role).tag for role in sorted(meeting.reference.roles)}
    return run_step("evaluate", config, run, iteration, inputs, outputs, compute, extra=extra)


def play_benchmarks(
    step: "StepContext",
    engine: Engine,
    env: Environment,
    routes: Mapping[str, Mapping[str, str]],
) -> dict[str, Played]:
    """Benchmark -> what was played: `validation`, `validation/<other team>`, `test`, and those
    that the configuration names."""
    settings, sampling = step.config.evaluation, evaluation_sampling(step.config)
    tasks = evaluation_tasks(env, Split.VALIDATION, settings.num_tasks)
    played = {}
    for name, roles in routes.items():
        benchmark = "validation" if name == "candidate" else f"validation/{name}"
        rules = evaluation_rules(step.config, roles)
        played[benchmark] = play(engine, env, tasks, rules, sampling, benchmark, "evaluate")
    if settings.test:
        tasks = evaluation_tasks(env, Split.TEST, settings.num_tasks)
        rules = evaluation_rules(step.config, routes["candidate"])
        played["test"] = play(engine, env, tasks, rules, sampling, "test", "evaluate")
    for name, chosen in settings.benchmarks.items():
        other = open_benchmark(step.config, name)
        tasks = evaluation_tasks(other, Split(chosen.split), chosen.num_tasks)
        rules = evaluation_rules(step.config, routes["candidate"])
        played[name] = play(engine, other, tasks, rules, sampling, name, "evaluate")
    return played


def _write(
    step: "StepContext",
    env: Environment,
    meeting: Contest,
    played: Mapping[str, Played],
    outputs: Mapping[str, str],
) -> Mapping[str, float]:
    confidence = step.config.evaluation.confidence
    benchmarks = {
        name: benchmark_report(item.episodes, item.scored, confidence)
        for name, item in played.items()
    }
    report = full_report(meeting, env, benchmarks, confidence)
    report |= {"run": step.run, "iteration": step.iteration}
    Path(outputs["report"]).write_text(json.dumps(report, indent=1, sort_keys=True))
    episodes = [episode for item in played.values() for episode in item.episodes]
    records.write(outputs["evaluation"], Episode, episodes)
    metrics: dict[str, float] = {}
    for name, item in played.items():
        metrics |= benchmark_metrics(item, name, step)
    gain = report["differences"]["reference"]
    return metrics | {
        "evaluation/validation/gain": gain["estimate"],
        "evaluation/validation/gain_low": gain["low"],
        "evaluation/validation/gain_high": gain["high"],
    }


def _champion(config: "ExperimentConfig") -> Team | None:
    """The registered champion of the configured team; None if there is none yet."""
    from components.tracking.registry import champion

    manifest = champion(config)
    return None if manifest is None else manifest.playing
