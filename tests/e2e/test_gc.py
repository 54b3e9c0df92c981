"""A run that lost what its rules do not keep ends with the same bytes, and the rest still works."""

import subprocess
import sys
from pathlib import Path

import pytest

from components.storage import open_store
from components.tracking import registry
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = pytest.mark.full
RUN = ("run", "--name", "r", "--runner", "inprocess")


def make_place(folder: Path) -> Workplace:
    folder.mkdir()
    place = Workplace(folder)
    place.write(words_experiment({"first": "a", "second": "b"}, iterations=3))
    return place


def gc(place: Workplace, *words: str) -> str:
    command = [sys.executable, "-m", "pipelines", "gc", "r"]
    command += ["--store", place.config.storage.uri, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_after_gc_a_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    plain, cleared = make_place(tmp_path / "plain"), make_place(tmp_path / "cleared")
    for place in (plain, cleared):
        assert place.run(*RUN).returncode == 0
    store = open_store(cleared.config.storage)
    before = store.sizes("policies/") | store.sizes("optimizers/")
    assert "removed 0, 0 B; marked 4 more" in gc(cleared)
    assert "removed 4, " in gc(cleared, "--grace-hours", "0")
    after = store.sizes("policies/") | store.sizes("optimizers/")
    assert sum(after.values()) < sum(before.values())
    for place in (plain, cleared):
        done = place.run(*RUN, "--iterations", "4")
        assert done.returncode == 0, done.stdout + done.stderr
    assert cleared.weights("r", 4) == plain.weights("r", 4)

    champion = registry.champion(cleared.config)
    assert champion is not None
    for ref in champion.policies.values():
        assert store.download_folder(ref.folder, tmp_path / "cache").is_dir()
    assert cleared.run("report", "--name", "r").returncode == 0
    done = cleared.run("promote", "--name", "r", "--runner", "inprocess", "--iteration", "1")
    assert done.returncode == 1
    assert "was removed by `gc` at" in done.stdout + done.stderr
    assert "@1 of run r" in done.stdout + done.stderr
