"""Killed after any step has computed and before it is committed, a run ends with the same bytes."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.workplace import Workplace, words_experiment

pytestmark = pytest.mark.full
STEPS = (
    "0 initialise", "0 commit_initial", "1 rollout", "1 group", "1 update", "1 commit",
    "2 rollout", "2 update", "2 commit", "2 evaluate", "2 promote",
)  # fmt: skip
KILLED = """
import os, signal, sys
from components import step
from pipelines.__main__ import main

number, name, *command = sys.argv[1:]
computed = step._computed

def killed(context, outputs, compute):
    metrics = computed(context, outputs, compute)
    if (context.iteration, context.name) == (int(number), name):
        os.kill(os.getpid(), signal.SIGKILL)
    return metrics

step._computed = killed
sys.exit(main(command))
"""


def make_place(folder: Path) -> Workplace:
    folder.mkdir()
    place = Workplace(folder)
    place.write(words_experiment({"first": "a", "second": "b"}, iterations=2))
    return place


def kill_in_turn(place: Workplace, run: Sequence[str], moments: Sequence[str]) -> None:
    """Begin a run, kill it at one moment after another, and let it go on to its end."""
    for moment in moments:
        command = [sys.executable, "-c", KILLED, *moment.split(), *place.command(*run)[3:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == -signal.SIGKILL, f"{moment}: {done.stdout}{done.stderr}"
    done = place.run(*run)
    assert done.returncode == 0, done.stdout + done.stderr


def test_fault_11_killed_in_every_step_in_turn(tmp_path: Path) -> None:
    """Both policies, their optimisers and the position in the data are as if nothing had been."""
    run = ("run", "--name", "r", "--runner", "inprocess")
    plain, killed = make_place(tmp_path / "plain"), make_place(tmp_path / "killed")
    assert plain.run(*run).returncode == 0
    kill_in_turn(killed, run, STEPS)
    for iteration in (1, 2):
        assert killed.weights("r", iteration) == plain.weights("r", iteration)
    assert killed.state("r", 2).next_task == plain.state("r", 2).next_task
