"""Runs a compiled pipeline with kfp's DockerRunner, each step in its own container.

As a pod on a cluster: a user without a name, no capabilities, no new privileges. What the steps
share (store, cache, tracking database, artifacts) lies in one folder, mounted at the same path.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipelines.local import end_group

LABEL = "rolewise.images-test"
"""Of the containers, its value the run's folder: those of a run that was stopped can be found."""


def run_in_containers(
    spec: Path, arguments: Mapping[str, Any], folder: Path, on_line: Callable[[str], None]
) -> int:
    """Run the pipeline in a child process, as kfp.local patches its process; the exit code."""
    command = [sys.executable, "-m", "tests.images.docker_runner", str(spec)]
    child = subprocess.Popen(
        [*command, json.dumps(arguments), str(folder)], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    try:
        for line in child.stdout:
            on_line(line.rstrip("\n"))
        return child.wait()
    finally:
        end_group(child)
        child.stdout.close()


def user() -> str:
    """Who the steps run as: nobody known, as on some clusters; without root, ourselves."""
    return "12345:0" if os.geteuid() == 0 else f"{os.geteuid()}:{os.getegid()}"


def main(spec: str, arguments: str, folder: str) -> int:
    """The child: 0 if all steps succeeded."""
    from kfp import components, local

    os.umask(0)  # the steps' user writes into folders that the runner makes
    warnings.filterwarnings("ignore", module="kfp")
    runner = local.DockerRunner(
        network_mode="host", user=user(), cap_drop=["ALL"], security_opt=["no-new-privileges"],
        shm_size="1g", labels={LABEL: folder},
    )  # fmt: skip
    local.init(runner=runner, pipeline_root=folder, raise_on_error=True)
    pipeline = components.load_component_from_file(spec)
    try:
        pipeline(**json.loads(arguments))
    except RuntimeError as error:
        print(error, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
