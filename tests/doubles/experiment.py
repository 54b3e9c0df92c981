"""A small valid configuration, to be changed in the one place a test is about."""

from typing import Any

from components.config import ExperimentConfig, parse_config
from components.policies import PolicyRef


def content(**changes: Any) -> dict[str, Any]:
    """The configuration as a mapping; `changes` replace whole top-level keys."""
    return {
        "name": "tiny",
        "env": {"name": "plan_path"},
        "policies": {"tool": {"base": "file://tool"}, "plan": {"base": "file://plan"}},
        "roles": {"tooler": "tool", "planner": "plan"},
        "rollout": {"num_tasks": 4, "num_candidates": 2},
    } | changes


def make_config(**changes: Any) -> ExperimentConfig:
    """The checked configuration."""
    return parse_config(content(**changes))


def make_policy(name: str = "tool", version: int = 0, **changes: Any) -> PolicyRef:
    """A reference to a policy that is nowhere."""
    digest = f"{name}{version}".encode().hex().ljust(64, "0")
    fields = {"uri": f"file://store/policies/{digest}", "sha256": digest, "bytes": 10} | changes
    return PolicyRef(name, version, **fields)
