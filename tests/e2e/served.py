"""`serve` as a process: until its servers answer, and to an end as by Ctrl-C."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

GRACE_S = 20.0


@contextmanager
def serving(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """What it printed until it was ready; no server outlives it."""
    process = subprocess.Popen(
        command, cwd=folder, env=dict(environment), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith("ready"):
            break
    children = psutil.Process(process.pid).children(recursive=True)
    assert children, printed
    try:
        yield printed
    finally:
        os.kill(process.pid, signal.SIGINT)
        code = process.wait(60)
        process.stdout.close()
    assert code == 0
    _, left = psutil.wait_procs(children, GRACE_S)  # a server's helpers end a moment after it
    assert not left, left
