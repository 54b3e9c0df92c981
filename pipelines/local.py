"""Runs a compiled pipeline with kfp's local runner, each step in a process of its own.

kfp.local patches `print` and logging of its process, so it lives in a child process (this module
as a program); the parent reads its output line by line. The child and its steps are one process
group: it is ended as a whole, also when the parent disappears.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GRACE_S = 5.0
"""Between SIGTERM and SIGKILL."""


def run_local(
    spec: Path, arguments: Mapping[str, Any], folder: Path, on_line: Callable[[str], None]
) -> int:
    """Run the pipeline in the YAML file `spec`; artifacts go below `folder`; return the exit code.

    `on_line` gets every line that the runner and the steps print, as it comes. If it raises, or
    the wait is interrupted, the child and all steps are ended before the exception goes on.
    """
    child = start_local(spec, arguments, folder)
    assert child.stdout is not None and child.stdin is not None
    try:
        for line in child.stdout:
            on_line(line.rstrip("\n"))
        return child.wait()
    finally:
        end_group(child)
        child.stdin.close()
        child.stdout.close()


def start_local(spec: Path, arguments: Mapping[str, Any], folder: Path) -> "subprocess.Popen[str]":
    """The child that runs a pipeline: its output is to be read, its end is `end_group`."""
    command = [sys.executable, "-m", "pipelines.local", str(spec), json.dumps(arguments)]
    return subprocess.Popen(
        [*command, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env=child_environment(os.environ),
    )


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Of the steps: our code is found from the working directory, one thread by default."""
    paths = [os.getcwd(), environment.get("PYTHONPATH", "")]
    return {
        "OMP_NUM_THREADS": "1",
        **environment,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONUNBUFFERED": "1",
    }


def end_group(child: "subprocess.Popen[str]") -> None:
    """End a child that leads a process group, and all of its group: SIGTERM, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


def main(spec: str, arguments: str, folder: str) -> int:
    """The child: run the pipeline, raise nothing, return 0 if all steps succeeded."""
    from kfp import components, local

    threading.Thread(target=_end_with_parent, daemon=True).start()
    # kfp warns that an image's name does not contain "python" and that limits do nothing locally.
    warnings.filterwarnings("ignore", module="kfp")
    local.init(
        runner=local.SubprocessRunner(use_venv=False), pipeline_root=folder, raise_on_error=True
    )
    pipeline = components.load_component_from_file(spec)
    try:
        pipeline(**json.loads(arguments))
    except RuntimeError as error:
        print(error, flush=True)
        return 1
    return 0


def _end_with_parent() -> None:
    """The parent holds the other end of our standard input: its end is the parent's end."""
    while os.read(0, 1):  # not by sys.stdin, whose lock the interpreter's end would wait for
        pass
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
