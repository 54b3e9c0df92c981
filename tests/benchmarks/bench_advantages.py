"""Group advantages against verl's vectorised GRPO, 65,536 samples in groups of 4 to 8."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.benchmarks import peers
from tests.benchmarks.harness import Row, row, unmeasured, within

CASES = {
    "dense": ("advantages, 256-token responses", 50.0),
    "wide": ("advantages, 256-token responses, arbitrary ids shuffled", 15.0),
    "dense, one token": ("advantages, one-token responses", None),
    "wide, one token": ("advantages, one-token responses, arbitrary ids shuffled", None),
    "same, one token": ("advantages, one-token responses, the same integers", None),
}
EQUAL = "advantages, largest difference to verl"
UUIDS = "verl 0.9.1 with its UUID strings; ours with integers"


def rows() -> list[Row]:
    """Speed with each trainer's own ids, and with the same ids; equality of the values."""
    try:
        found = _measure(str(peers.ensure()))
    except (RuntimeError, OSError) as error:
        goals = [*CASES.values(), (EQUAL, 1.0)]
        return [unmeasured(name, goal, str(error)) for name, goal in goals]
    timed = [
        row(name, *found[case], goal, "s", "verl 0.9.1" if case.startswith("same") else UUIDS)
        for case, (name, goal) in CASES.items()
    ]
    return [*timed, within(EQUAL, found["difference"], 1e-5, "", "float64 against float32")]


def _measure(python: str) -> dict[str, Any]:
    """What `verl_advantages` prints, from a process of the peers' environment."""
    command = [python, "-W", "ignore", str(Path(__file__).with_name("verl_advantages.py"))]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "VERL_FORCE_DEVICE": "cpu"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"verl_advantages failed: {done.stderr.strip().splitlines()[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
