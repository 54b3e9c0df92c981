"""What can be typed wrong at `replay`: one line with field, value and fix, before an engine."""

from pathlib import Path

import pytest

from components.state import register_run
from components.storage import open_store
from pipelines.__main__ import main
from tests.components.replay.test_replay import Engines, config_of, engines, played

__all__ = ["engines"]
EPISODE = "tracer/train/0/1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--branch", ""), "error: branch '': expected TURN/ROLE/CANDIDATE, e.g. 0/planner/2"),
        (("--branch", "7/A/0/1"), "has no branch 7/A/0/1; its branches: 0/A/0/, 0/A/1/"),
        (("--play", "nosuch"), "error: --play 'nosuch': run 'r' has no such play; it has 'train"),
        (("--play", ""), "error: --play '': run 'r' has no such play; it has 'training', 'val"),
        (("--play", "nosuch", "--iteration", "1"), "'nosuch': run 'r', iteration 1 has no such"),
    ],
)
def test_one_line_and_exit_code_2(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    engines: Engines,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    config = config_of(tmp_path)
    played(config, tmp_path)
    register_run(open_store(config.storage), "r", config)
    engines.opened.clear()
    capfd.readouterr()  # of the run
    store = ("--run", "r", "--store", config.storage.uri)
    assert main(["replay", EPISODE, *store, *words]) == 2
    found = capfd.readouterr()
    assert message in found.err and len(found.err.splitlines()) == 1
    assert not found.out and not engines.opened
