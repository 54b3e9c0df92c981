"""Group advantages against verl's vectorised GRPO, 65,536 samples in groups of 4 to 8."""

import json
import os
import subprocess
from pathlib import Path

from tests.benchmarks import peers
from tests.benchmarks.harness import Row, row, unmeasured, within

DENSE = "advantages, ids as each trainer has them"
WIDE = "advantages, arbitrary ids in random order"
SAME = "advantages, the same dense integers for both"
EQUAL = "advantages, largest difference to verl"
UUIDS = "verl 0.9.1 with its UUID strings; ours with integers"


def rows() -> list[Row]:
    """Speed with each trainer's own ids, and with the same ids; equality of the values."""
    try:
        python = peers.ensure()
    except (RuntimeError, OSError) as error:
        goals = {DENSE: 50.0, WIDE: 15.0, SAME: None, EQUAL: 1.0}
        return [unmeasured(name, goal, str(error)) for name, goal in goals.items()]
    found = _measure(str(python))
    return [
        row(DENSE, *found["dense"], 50.0, "s", UUIDS),
        row(WIDE, *found["wide"], 15.0, "s", UUIDS),
        row(SAME, *found["same"], None, "s", "verl 0.9.1"),
        within(EQUAL, found["difference"], 1e-5, "", "float64 against float32"),
    ]


def _measure(python: str) -> dict[str, list[float]]:
    """What `verl_advantages` prints, from a process of the peers' environment."""
    command = [python, "-W", "ignore", str(Path(__file__).with_name("verl_advantages.py"))]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "VERL_FORCE_DEVICE": "cpu"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"verl_advantages failed: {done.stderr.strip().splitlines()[-1]}")
    result: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return result
