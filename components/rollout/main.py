"""The GPU side of playing: whole episodes (fused), one phase's answers (staged), evaluation.

An engine is opened once per step, and only if there is something to answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from components import records
from components.answers import keep_answers
from components.engine import Engine
from components.env_execution.boards import deal
from components.env_execution.environments import (
    held_out_tasks,
    open_environments,
    training_tasks,
)
from components.env_execution.main import play_metrics
from components.env_execution.metrics import environment_metrics, role_rewards, weighted_metrics
from components.env_execution.rules import (
    evaluation_rules,
    evaluation_sampling,
    training_rules,
    training_sampling,
)
from components.env_execution.visits import visit_metrics
from components.members import Member
from components.policies import Team
from components.process import without_collector
from components.records import Candidate, Episode, Scored, Turn
from components.rollout.play import Played, answer, play_boards
from envs.base import Split

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
        members = open_environments(step.config)
        state = load_state(inputs["state"])
        tasks = training_tasks(members, step.config, state.next_task)
        boards = deal(members, tasks, training_rules(step.config, iteration))
        with engine_for(step, state.team(step.config)) as engine:
            evaluation = _evaluation(step, engine, members) if is_due(step) else None
            played = play_boards(engine, boards, training_sampling(step.config))
            load_s = engine.stats()["load_s"]
        records.write(outputs["scored"], Scored, played.scored)
        records.write(outputs["episodes"], Episode, played.episodes)
        records.write(outputs["evaluation"], Episode, evaluation.episodes if evaluation else [])
        timings = {f"rollout/{name}": value for name, value in played.timings.items()}
        metrics = play_metrics(members, played.scored, played.episodes) | timings
        if evaluation:
            metrics |= benchmark_metrics(evaluation, "validation", step, members)
            names = [member.name for member in members]
            metrics |= visit_metrics(names, played.scored, evaluation.scored, "rollout/train")
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
        members = open_environments(step.config)
        if not is_due(step):
            records.write(outputs["evaluation"], Episode, [])
            return {}
        with engine_for(step, load_state(inputs["state"]).team(step.config)) as engine:
            evaluation = _evaluation(step, engine, members)
        records.write(outputs["evaluation"], Episode, evaluation.episodes)
        return benchmark_metrics(evaluation, "validation", step, members)

    return run_step("evaluate_team", config, run, iteration, inputs, outputs, compute)


def is_due(step: "StepContext") -> bool:
    """Whether the iteration evaluates the team it loads: the first, then every n-th."""
    return (step.iteration - 1) % step.config.evaluation.every == 0


def benchmark_metrics(
    played: Played, benchmark: str, step: "StepContext", members: Sequence[Member]
) -> dict[str, float]:
    """`evaluation/<benchmark>/...`: success, turns, tokens, seconds, every role's mean reward.

    Of several environments also `evaluation/<benchmark>/<environment>/...`.
    """
    prefix, confidence = f"evaluation/{benchmark}", step.config.evaluation.confidence
    rewards = {
        f"{prefix}/{role}/reward/mean": mean for role, mean in role_rewards(played.scored).items()
    }
    timings = {f"{prefix}/{name}": value for name, value in played.timings.items()}
    outcome = weighted_metrics(members, played.episodes, prefix, confidence)
    outcome |= environment_metrics(members, played.scored, played.episodes, prefix, confidence)
    return outcome | rewards | timings


@contextmanager
def engine_for(step: "StepContext", team: Team) -> Iterator[Engine]:
    """The configured engine with the team's policies; closed at the end, also after an error."""
    from components.rollout.engines import open_engine
    from components.rollout.warm.engine import warm_engine

    with step.meter.measure("load"), without_collector():
        engine: Engine = warm_engine(step, team) or open_engine(
            step.config.rollout, team, step.store, step.cache
        )
    try:
        yield engine
    finally:
        engine.close()


def _evaluation(step: "StepContext", engine: Engine, members: Sequence[Member]) -> Played:
    """The loaded team on validation, greedily."""
    rules = evaluation_rules(step.config, step.config.roles)
    boards = deal(members, held_out_tasks(members, Split.VALIDATION), rules, "validation")
    played = play_boards(engine, boards, evaluation_sampling(step.config), "evaluation")
    keep_answers(step, "validation", played.scored)
    return played
