"""A small experiment for tests of the wiring."""

from typing import Any

from components.config import ExperimentConfig, parse_config
from pipelines.compiling import open_profile
from pipelines.pinning import with_images
from pipelines.profile import Profile

DIGEST = "0123456789abcdef" * 4
RUNTIMES = ("cpu", "vllm", "deepspeed", "driver")
IMAGES = {name: f"registry.example/rolewise/{name}@sha256:{DIGEST}" for name in RUNTIMES}
"""As `make push` would print them."""
BUCKET: dict[str, Any] = {"uri": "s3://bucket/teams"}
POLICY = {"base": "init://", "init": {"hidden_size": 32, "num_layers": 1}}


def pinned(profile: str) -> Profile:
    """A profile that comes with the project, with images by digest."""
    return with_images(open_profile(profile), IMAGES)


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
