"""The CPU side of staged placement: open the first turn, execute a phase's candidates.

Records in, the turn loop's pure functions, records out. No model is loaded here.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from components import records
from components.env_execution.advance import advance
from components.env_execution.frontier import Frontier, decode, encode, prompts, start
from components.env_execution.metrics import candidate_metrics, episode_metrics
from components.env_execution.rules import open_environment, training_rules, training_tasks
from components.records import Candidate, Episode, Scored, Turn
from envs.base import Environment

if TYPE_CHECKING:
    from components.step import StepContext


def open_turns(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Draw the iteration's training tasks and write the prompts of the first phase.

    inputs: state. outputs: turns, frontier, scored (empty: later phases add to it).
    """
    from components.state import load_state
    from components.step import run_step

    def compute(step: "StepContext") -> Mapping[str, float]:
        env = open_environment(step.config)
        tasks = training_tasks(env, step.config, load_state(inputs["state"]).next_task)
        rules = training_rules(step.config, iteration)
        frontier = start(env, tasks, rules)
        turns = prompts(env, frontier, rules)
        _write(env, frontier, turns, [], outputs)
        return {"open_turns/num_tasks": float(len(tasks))}

    return run_step("open_turns", config, run, iteration, inputs, outputs, compute)


def execute_turn(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Score one phase's candidates, execute the picks, write the next phase's prompts.

    inputs: frontier, candidates, scored. outputs: turns, frontier, scored (cumulative), episodes
    (ended so far). Where nothing is left, no turns are written; the metrics of the whole play
    are returned by the phase that finds nothing left after it.
    """
    from components.step import run_step

    def compute(step: "StepContext") -> Mapping[str, float]:
        env = open_environment(step.config)
        rules = training_rules(step.config, iteration)
        frontier = decode(env, Path(inputs["frontier"]).read_text(), inputs["frontier"])
        candidates = records.read_rows(inputs["candidates"], Candidate)
        begun = time.perf_counter()
        advanced = advance(env, frontier, candidates, rules)
        turns = prompts(env, advanced.frontier, rules)
        spent = time.perf_counter() - begun
        scored = records.read_rows(inputs["scored"], Scored) + advanced.scored
        episodes = advanced.frontier.ended
        _write(env, advanced.frontier, turns, scored, outputs)
        records.write(outputs["episodes"], Episode, episodes)
        metrics = {"rollout/environment_s": spent}
        if not turns:
            metrics |= play_metrics(scored, episodes)
        return metrics

    return run_step("execute_turn", config, run, iteration, inputs, outputs, compute)


def play_metrics(scored: Sequence[Scored], episodes: Sequence[Episode]) -> dict[str, float]:
    """Metrics of an iteration's training episodes, the same in both placements."""
    return candidate_metrics(scored, "rollout") | episode_metrics(episodes, "rollout/train")


def _write(
    env: Environment,
    frontier: Frontier,
    turns: Sequence[Turn],
    scored: Sequence[Scored],
    outputs: Mapping[str, str],
) -> None:
    target = Path(outputs["frontier"])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(encode(env, frontier))
    records.write(outputs["turns"], Turn, turns)
    records.write(outputs["scored"], Scored, scored)
