"""A small experiment for tests of the wiring."""

from typing import Any

from components.config import ExperimentConfig, parse_config

POLICY = {"base": "init://", "init": {"hidden_size": 32, "num_layers": 1}}


def make_config(**sections: Any) -> ExperimentConfig:
    """Two roles with a policy each on small grids; sections replace the defaults."""
    content = {
        "name": "wired",
        "iterations": 3,
        "env": {"name": "plan_path"},
        "policies": {"tool": POLICY, "planner": POLICY},
        "roles": {"tool": "tool", "planner": "planner"},
    }
    return parse_config(content | sections)
