"""Real runs replayed token by token, compared and promoted from the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from components.replay.stored import stored_rows
from components.storage import open_store
from pipelines.__main__ import main
from tests.e2e.workplace import SCRATCH, Workplace, words_experiment

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
LORA: dict[str, Any] = SCRATCH | {"lora": {"r": 2, "alpha": 4}}
ROLES = {"first": "a", "second": "b"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    return Workplace(tmp_path)


def train(place: Workplace, **experiment: Any) -> None:
    place.write(words_experiment(**experiment))
    assert place.call("run", "--name", "r", "--runner", "inprocess") == 0


def call(place: Workplace, *words: str) -> int:
    """A verb that takes no CONFIG."""
    return main([*words, "--store", f"file://{place.folder}/store"])


def episodes(place: Workplace, iteration: int) -> list[str]:
    rows = stored_rows(open_store(place.config.storage), "r", iteration) or []
    return list(dict.fromkeys(row.candidate.turn.episode_id for row in rows))


@pytest.mark.parametrize("placement", ["fused", "staged"])
@pytest.mark.parametrize("policy", [SCRATCH, LORA], ids=["full", "lora"])
def test_every_token_is_the_same_again(
    placement: str, policy: Any, place: Workplace, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also of the iteration that came after a stop: `--iterations 1`, then on to 2."""
    experiment = words_experiment(ROLES, dict.fromkeys("ab", policy))
    experiment["rollout"] |= {"placement": placement}
    train(place, roles=ROLES, policies=dict.fromkeys("ab", policy), rollout=experiment["rollout"])
    more = ("--name", "r", "--runner", "inprocess", "--iterations", "2")
    assert place.call("run", *more) == 0
    for iteration in (1, 2):
        for episode in episodes(place, iteration):
            capfd.readouterr()
            assert call(place, "replay", episode, "--run", "r", "--json") == 0
            result = json.loads(capfd.readouterr().out)
            assert result["iteration"] == iteration and result["same"]
            assert sum(item["num_tokens"] for item in result["answers"]) > 0
    for play in ("validation", "closing validation", "closing test"):
        held_out = f"words/{play.rpartition(' ')[2]}/0/0"
        assert call(place, "replay", held_out, "--run", "r", "--play", play) == 0
    whole = ("replay", f"r/2/{episodes(place, 2)[0]}", "--batch", "whole")
    assert call(place, *whole, "--branch", "0/second/1") == 0
    assert "the same: 1 answers" in capfd.readouterr().out


def test_another_sampler_is_told_token_by_token(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    train(place, roles=ROLES)
    from components.rollout import transformers_engine

    draw = transformers_engine.draw
    monkeypatch.setattr(transformers_engine, "draw", lambda probs, u: draw(probs, (u + 0.5) % 1))
    assert call(place, "replay", episodes(place, 1)[0], "--run", "r") == 1
    text = capfd.readouterr().out
    assert re.search(r"token \d+ was \d+ \(log-prob .*\), is \d+ \(log-prob", text)
    assert "once more in the batch" in text
    assert text.splitlines()[-1].startswith("different: ")


def test_the_way_to_answers_that_were_not_kept_is_followed(
    place: Workplace, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of the rollout's evaluation and of a closing one, as of a run of an older version."""
    train(place, roles=ROLES)
    for path in place.folder.glob("store/runs/r/answers/*/*/*.parquet"):
        path.unlink()
    for of in ("rollout", "evaluate"):
        capfd.readouterr()
        assert call(place, "episodes", "r", "--iteration", "1") == 0
        (note,) = (line for line in capfd.readouterr().err.splitlines() if f"step '{of}'" in line)
        if of == "evaluate":
            (manifest,) = re.findall(r"delete file://(\S+), then", note)
            Path(manifest).unlink()
        (words,) = re.findall(r"`python -m pipelines (.*)` plays", note)
        assert main([*words.split(), "--runner", "inprocess"]) in (0, 3)
    for iteration in ("0", "1"):
        capfd.readouterr()
        assert call(place, "episodes", "r", "--iteration", iteration) == 0
        assert "step 'evaluate'" not in capfd.readouterr().err
        episode = ("words/validation/0/0", "--play", "closing validation")
        assert call(place, "replay", *episode, "--run", "r", "--iteration", iteration) == 0


def test_what_was_rolled_back_can_be_asked_anew(
    place: Workplace, capfd: pytest.CaptureFixture[str]
) -> None:
    train(place, roles=ROLES, promotion={"min_gain": -1.0})
    first = ("promote", "r", "--iteration", "0", "--runner", "inprocess")
    assert call(place, *first) == 0
    assert call(place, "rollback", "words", "--yes") == 0
    for more in ((), ("--dry-run",)):
        capfd.readouterr()
        assert call(place, *first, *more) == 3
        assert "`promote --again` asks anew" in capfd.readouterr().out
    assert call(place, *first, "--again", "--dry-run") == 0
    assert "dry run: would be promoted in place of r@1" in capfd.readouterr().out
    assert call(place, *first, "--again") == 0
    capfd.readouterr()
    assert call(place, "history", "words") == 0
    told = capfd.readouterr().out
    assert [word for word in ("promoted", "rolled back", "reopened") if word not in told] == []


def test_from_a_run_to_the_registry_and_back_to_compare(
    place: Workplace, capfd: pytest.CaptureFixture[str]
) -> None:
    train(place, roles=ROLES, promotion={"min_gain": -1.0})
    versions = len(list(place.folder.glob("store/teams/words/audit/*")))
    assert call(place, "promote", "r", "--dry-run", "--runner", "inprocess") == 3
    assert "would be refused in place of r@1: the team is the champion team itself" in (
        capfd.readouterr().out.replace("\n", " ")
    )
    before = ("promote", "r", "--iteration", "0", "--dry-run", "--runner", "inprocess")
    assert call(place, *before) in (0, 3)
    assert "dry run: would be" in capfd.readouterr().out
    assert len(list(place.folder.glob("store/teams/words/audit/*"))) == versions
    assert call(place, "compare", "r:0", "words@champion", "--evaluate", "--json") == 0
    result = json.loads(capfd.readouterr().out)
    assert [team["iteration"] for team in result["teams"]] == [0, 1]
    assert call(place, "compare", "r:1", "r", "--benchmark", "test") == 0
    assert "no clear difference between r:1 and r:1" in capfd.readouterr().out
    assert call(place, "compare", "r:0", "r:1", "--benchmark", "few") == 2
    assert "benchmark 'few' is unknown to experiment 'words'; known: " in capfd.readouterr().err
    assert call(place, "card", "words@champion") == 0
    assert "| validation/reference |" in capfd.readouterr().out
