"""Plays a team on held-out tasks on demand, as a step of its run: committed, never played twice.

The first team's experiment says the environment, the tasks and the limits for both.
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components import records
from components.comparison.outcomes import HeldOut, check_benchmark, outcomes_of, task_source
from components.comparison.stored import HELD_OUT
from components.config import ExperimentConfig
from components.env_execution.boards import deal
from components.env_execution.environments import (
    held_out_tasks,
    open_benchmark,
    open_environments,
)
from components.env_execution.metrics import rewards_by_task
from components.env_execution.rules import evaluation_rules, evaluation_sampling
from components.members import Member
from components.policies import Team
from components.records import Episode
from components.rollout.main import engine_for
from components.rollout.play import Played, play_boards
from components.settings import StorageConfig
from components.state import read_state, save_state
from components.step import run_step
from components.storage import open_store
from envs.base import Split

if TYPE_CHECKING:
    from components.step import StepContext


def play_held_out(
    ruler: ExperimentConfig,
    storage: StorageConfig,
    roles: Mapping[str, str],
    run: str,
    iteration: int,
    benchmark: str,
) -> HeldOut:
    """The team of (run, iteration), in its own `roles`, on the ruler's benchmark, greedily.

    Engine, environment, number of tasks and limits are the ruler's. ConfigError if the team's
    roles are not those of the ruler's environment, or the ruler has no such benchmark; both
    before an engine is loaded.
    """
    check_benchmark(ruler, benchmark)
    config = ruler.model_copy(update={"storage": storage})
    state = read_state(open_store(storage), run, iteration)
    team = Team(state.policies, dict(roles))
    with tempfile.TemporaryDirectory(prefix="rolewise-") as folder:
        names = ("state", "evaluation", "report")
        paths = {name: str(Path(folder) / name) for name in names}
        save_state(paths["state"], state)
        outputs = {name: paths[name] for name in ("evaluation", "report")}

        def compute(step: "StepContext") -> Mapping[str, float]:
            members, split = _benchmark(step.config, benchmark)
            with engine_for(step, team) as engine:
                played = _play(step.config, engine, team, benchmark, members, split)
            _write(outputs, played, benchmark, task_source(ruler, benchmark))
            return {f"{HELD_OUT}/{name}": value for name, value in played.timings.items()}

        extra: dict[str, Any] = {"roles": dict(roles), "benchmark": benchmark}
        inputs = {"state": paths["state"]}
        run_step(HELD_OUT, config.to_json(), run, iteration, inputs, outputs, compute, extra=extra)
        report = json.loads(Path(paths["report"]).read_text())["benchmarks"][benchmark]
        episodes: list[Episode] = records.read_rows(paths["evaluation"], Episode)
    outcomes = outcomes_of(episodes, report["rewards_by_task"])
    return HeldOut(run, iteration, HELD_OUT, report["tasks"], outcomes)


def _benchmark(config: ExperimentConfig, name: str) -> tuple[list[Member], Split]:
    chosen = config.evaluation.benchmarks.get(name)
    if chosen is not None:
        return [open_benchmark(config, name)], Split(chosen.split)
    return open_environments(config), Split(name)


def _play(
    config: ExperimentConfig,
    engine: Any,
    team: Team,
    benchmark: str,
    members: list[Member],
    split: Split,
) -> Played:
    rules, sampling = evaluation_rules(config, team.roles), evaluation_sampling(config)
    boards = deal(members, held_out_tasks(members, split), rules, benchmark)
    return play_boards(engine, boards, sampling, "evaluate")


def _write(
    outputs: Mapping[str, str], played: Played, benchmark: str, tasks: Mapping[str, Any]
) -> None:
    records.write(outputs["evaluation"], Episode, played.episodes)
    part = {"tasks": dict(tasks), "rewards_by_task": rewards_by_task(played.scored)}
    Path(outputs["report"]).write_text(json.dumps({"benchmarks": {benchmark: part}}))
