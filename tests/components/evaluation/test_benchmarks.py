"""Benchmarks named by the configuration: their tasks, their checks."""

import pytest

from components.config import ExperimentConfig, parse_config
from components.env_execution.environments import (
    evaluation_tasks,
    open_benchmark,
    open_environments,
)
from components.errors import ConfigError
from envs.base import Split
from envs.plan_path.grid import shortest_path
from envs.plan_path.state import PlanPathState

OPTIONS = {"height": 4, "width": 4, "num_walls": 4, "prompt_style": "compact"}


def configured(**benchmark: object) -> ExperimentConfig:
    return parse_config(
        {
            "name": "x",
            "env": {"name": "plan_path", "options": OPTIONS},
            "policies": {"p": {"base": "init://", "init": {}}},
            "roles": {"tool": "p", "planner": "p"},
            "evaluation": {"benchmarks": {"far": benchmark}},
        }
    )


def apart(state: PlanPathState) -> int:
    grid = state.grid
    path = shortest_path(grid.height, grid.width, grid.walls, state.position, state.goal)
    assert path is not None
    return len(path)


def test_options_replace_the_experiments_key_by_key() -> None:
    env = open_benchmark(configured(options={"min_distance": 4}), "far").env
    own = open_environments(configured())[0].env
    states = [env.reset(task) for task in evaluation_tasks(env, Split.TEST, 20)]
    distances = [apart(state) for state in states]
    assert min(distances) >= 4
    assert min(apart(own.reset(task)) for task in evaluation_tasks(own, Split.TEST, 20)) < 4
    assert {len(state.grid.rows()) for state in states} == {4}


def test_a_bad_option_names_the_benchmark() -> None:
    with pytest.raises(ConfigError, match=r"evaluation\.benchmarks\.far.*min_distance"):
        open_benchmark(configured(options={"min_distance": -1}), "far")


def test_names_of_splits_are_taken() -> None:
    content = configured().model_dump(mode="json")
    content["evaluation"]["benchmarks"] = {"test": {}}
    with pytest.raises(ConfigError, match="names of splits"):
        parse_config(content)
