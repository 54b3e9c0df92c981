"""The CPU side of staged placement: open the first turn, execute a phase's candidates.

Records in, the turn loop's pure functions, records out. No model is loaded here.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from components import records
from components.env_execution.boards import (
    Board,
    advance_boards,
    board_prompts,
    deal,
    decode_boards,
    encode_boards,
    ended,
)
from components.env_execution.environments import open_environments, training_tasks
from components.env_execution.metrics import candidate_metrics, environment_metrics, episode_metrics
from components.env_execution.rules import training_rules
from components.members import Member
from components.records import Candidate, Episode, Scored, Turn

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
        members = open_environments(step.config)
        tasks = training_tasks(members, step.config, load_state(inputs["state"]).next_task)
        boards = deal(members, tasks, training_rules(step.config, iteration))
        _write(boards, board_prompts(boards), [], outputs)
        return {"open_turns/num_tasks": float(sum(map(len, tasks.values())))}

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
        members = open_environments(step.config)
        rules, text = training_rules(step.config, iteration), Path(inputs["frontier"]).read_text()
        boards = decode_boards(members, text, rules, inputs["frontier"])
        candidates = records.read_rows(inputs["candidates"], Candidate)
        begun = time.perf_counter()
        made, boards = advance_boards(boards, candidates)
        turns = board_prompts(boards)
        spent = time.perf_counter() - begun
        scored, episodes = records.read_rows(inputs["scored"], Scored) + made, ended(boards)
        _write(boards, turns, scored, outputs)
        records.write(outputs["episodes"], Episode, episodes)
        metrics = {"rollout/environment_s": spent}
        if not turns:
            metrics |= play_metrics(members, scored, episodes)
        return metrics

    return run_step("execute_turn", config, run, iteration, inputs, outputs, compute)


def play_metrics(
    members: Sequence[Member], scored: Sequence[Scored], episodes: Sequence[Episode]
) -> dict[str, float]:
    """Metrics of an iteration's training episodes, the same in both placements."""
    metrics = candidate_metrics(scored, "rollout") | episode_metrics(episodes, "rollout/train")
    return metrics | environment_metrics(members, scored, episodes, "rollout/train")


def _write(
    boards: Sequence[Board],
    turns: Sequence[Turn],
    scored: Sequence[Scored],
    outputs: Mapping[str, str],
) -> None:
    target = Path(outputs["frontier"])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(encode_boards(boards))
    records.write(outputs["turns"], Turn, turns)
    records.write(outputs["scored"], Scored, scored)
