"""`compare` on runs that real steps committed, with an engine of known answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.state import register_run
from pipelines.__main__ import main
from tests.components.comparison.test_stored import Engines, config_of, engines, trained

__all__ = ["engines"]
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of run `r`, whose teams 0 and 1 were played by the rollouts after them: without rewards."""
    monkeypatch.chdir(tmp_path)
    config = config_of(tmp_path)
    register_run(trained(config, tmp_path), "r", config)
    engines.opened.clear()
    return config.storage.uri


def compare(store: str, *words: str) -> int:
    return main(["compare", "r:0", "r:1", "--store", store, *words])


def test_evaluate_plays_where_only_rewards_are_missing(
    store: str, engines: Engines, capfd: Printed
) -> None:
    assert compare(store) == 0
    assert "--evaluate plays again" in capfd.readouterr().out and not engines.opened
    assert compare(store, "--evaluate") == 0
    told = capfd.readouterr().out
    assert "r(A)" in told and "r(B)" in told and "--evaluate" not in told
    assert len(engines.opened) == 2
    for more in ((), ("--evaluate",)):  # what was played is stored, and found before the rest
        assert compare(store, *more, "--json") == 0
        result: Any = json.loads(capfd.readouterr().out)
        assert [team["played_by"] for team in result["teams"]] == ["held_out", "held_out"]
        assert set(result["environments"]["all"]["rewards"]) == {"A", "B"}
    assert len(engines.opened) == 2


@pytest.mark.parametrize("more", [(), ("--evaluate",)])
def test_an_unknown_benchmark_is_one_line_before_anything_is_loaded(
    more: tuple[str, ...], store: str, engines: Engines, capfd: Printed
) -> None:
    assert compare(store, "--benchmark", "nosuch", *more) == 2
    found = capfd.readouterr()
    assert found.err.splitlines() == [
        "error: benchmark 'nosuch' is unknown to experiment 'traced'; known: validation, test"
    ]
    assert not found.out and not engines.opened


def test_what_fails_in_the_play_is_told_once(
    store: str, capfd: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    from components.errors import PolicyError

    def refuse(*_: Any) -> None:
        raise PolicyError("policy 'a': its weights are gone")

    monkeypatch.setattr("components.rollout.engines.open_engine", refuse)
    assert compare(store, "--evaluate") == 2
    found = capfd.readouterr()
    assert (found.out + found.err).count("its weights are gone") == 1
