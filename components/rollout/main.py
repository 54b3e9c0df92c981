"""The GPU side of playing: whole episodes (fused), one phase's answers (staged), evaluation.

An engine is opened once per step, and only if there is something to answer.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from components import records
from components.engine import Engine
from components.env_execution.main import play_metrics
from components.env_execution.metrics import episode_metrics, role_rewards
from components.env_execution.rules import (
    evaluation_rules,
    evaluation_sampling,
    evaluation_tasks,
    open_environment,
    training_rules,
    training_sampling,
    training_tasks,
)
from components.policies import Team
from components.process import without_collector
from components.records import Candidate, Episode, Scored, Turn
from components.rollout.play import Played, answer, play
from envs.base import Environment, Split

if TYPE_CHECKING:
    from components.step import StepContext


def rollout(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Fused placement: play the iteration's training episodes, and the evaluation if it is due.

    inputs: state. outputs: scored, episodes (benchmark train), evaluation (benchmark validation,
    of the loaded team; empty if not due).
    """
    from components.state import load_state
    from components.step import run_step

    def compute(step: "StepContext") -> Mapping[str, float]:
        env = open_environment(step.config)
        state = load_state(inputs["state"])
        tasks = training_tasks(env, step.config, state.next_task)
        rules, sampling = training_rules(step.config, iteration), training_sampling(step.config)
        with engine_for(step, state.team(step.config)) as engine:
            evaluation = _evaluation(step, engine, env) if is_due(step) else None
            played = play(engine, env, tasks, rules, sampling)
            load_s = engine.stats()["load_s"]
        records.write(outputs["scored"], Scored, played.scored)
        records.write(outputs["episodes"], Episode, played.episodes)
        records.write(outputs["evaluation"], Episode, evaluation.episodes if evaluation else [])
        timings = {f"rollout/{name}": value for name, value in played.timings.items()}
        metrics = play_metrics(played.scored, played.episodes) | timings
        metrics |= benchmark_metrics(evaluation, "validation", step) if evaluation else {}
        return metrics | {"rollout/load_s": load_s}

    return run_step("rollout", config, run, iteration, inputs, outputs, compute)


def sample_turn(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Staged placement: answer one phase's prompts. inputs: state, turns. outputs: candidates.

    Without prompts no engine is started.
    """
    from components.state import load_state
    from components.step import run_step

    def compute(step: "StepContext") -> Mapping[str, float]:
        turns = records.read_rows(inputs["turns"], Turn)
        if not turns:
            records.write(outputs["candidates"], Candidate, [])
            return {"rollout/num_tokens": 0.0, "rollout/generate_s": 0.0, "rollout/load_s": 0.0}
        rules, sampling = training_rules(step.config, iteration), training_sampling(step.config)
        with engine_for(step, load_state(inputs["state"]).team(step.config)) as engine:
            candidates = answer(engine, turns, rules, sampling)
            stats = engine.stats()
        records.write(outputs["candidates"], Candidate, candidates)
        tokens, spent = stats["num_completion_tokens"], stats["generate_s"]
        return {
            "rollout/num_tokens": tokens,
            "rollout/tokens_per_s": tokens / spent if spent > 0.0 else 0.0,
            "rollout/generate_s": spent,
            "rollout/load_s": stats["load_s"],
        }

    return run_step("sample_turn", config, run, iteration, inputs, outputs, compute)


def evaluate_team(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Staged placement: play the loaded team on validation, if this iteration is due.

    inputs: state. outputs: evaluation (empty if not due; then no engine is started).
    """
    from components.state import load_state
    from components.step import run_step

    def compute(step: "StepContext") -> Mapping[str, float]:
        env = open_environment(step.config)
        if not is_due(step):
            records.write(outputs["evaluation"], Episode, [])
            return {}
        with engine_for(step, load_state(inputs["state"]).team(step.config)) as engine:
            evaluation = _evaluation(step, engine, env)
        records.write(outputs["evaluation"], Episode, evaluation.episodes)
        return benchmark_metrics(evaluation, "validation", step)

    return run_step("evaluate_team", config, run, iteration, inputs, outputs, compute)


def is_due(step: "StepContext") -> bool:
    """Whether the iteration evaluates the team it loads: the first, then every n-th."""
    return (step.iteration - 1) % step.config.evaluation.every == 0


def benchmark_metrics(played: Played, benchmark: str, step: "StepContext") -> dict[str, float]:
    """`evaluation/<benchmark>/...`: success, turns, tokens, seconds, every role's mean reward."""
    prefix = f"evaluation/{benchmark}"
    rewards = {
        f"{prefix}/{role}/reward/mean": mean for role, mean in role_rewards(played.scored).items()
    }
    timings = {f"{prefix}/{name}": value for name, value in played.timings.items()}
    outcome = episode_metrics(played.episodes, prefix, step.config.evaluation.confidence)
    return outcome | rewards | timings


@contextmanager
def engine_for(step: "StepContext", team: Team) -> Iterator[Engine]:
    """The configured engine with the team's policies; closed at the end, also after an error."""
    from components.rollout.engines import open_engine

    with step.meter.measure("load"), without_collector():
        engine = open_engine(step.config.rollout, team, step.store, step.cache)
    try:
        yield engine
    finally:
        engine.close()


def _evaluation(step: "StepContext", engine: Engine, env: Environment) -> Played:
    """The loaded team on validation, greedily."""
    config = step.config
    tasks = evaluation_tasks(env, Split.VALIDATION, config.evaluation.num_tasks)
    rules = evaluation_rules(config, config.roles)
    return play(engine, env, tasks, rules, evaluation_sampling(config), "validation", "evaluation")
