"""Two games, one team, the whole way: trained, evaluated, promoted; staged, killed and gone on."""

from pathlib import Path
from typing import Any

import pytest

from components import records
from components.records import Episode, Sample
from tests.e2e.test_resume import kill_in_turn
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
WORDS = "tests.doubles.words:make_words"
ROLES = {"first": "a", "second": "b"}
ENVS: dict[str, Any] = {
    "alone": {"name": WORDS, "options": {"roles": ["solo"]}, "roles": {"solo": "second"},
              "weight": 0.25, "num_turns": 3, "num_evaluation_tasks": 2},
    "pair": {"name": WORDS, "options": {"roles": ["first", "second"]}, "weight": 0.75},
}  # fmt: skip
STEPS = ("0 commit_initial", "1 rollout", "1 group", "1 commit", "2 rollout", "2 evaluate")


def make_place(folder: Path, **sections: Any) -> Workplace:
    folder.mkdir()
    place = Workplace(folder)
    content = words_experiment(ROLES, envs=ENVS, iterations=2, **sections)
    del content["env"]
    place.write(content | {"rollout": content["rollout"] | {"num_tasks": 6}})
    return place


def steps(place: Workplace, output: str, iteration: int = 1) -> list[Path]:
    return sorted(place.folder.glob(f"store/runs/r/steps/{iteration:06d}/{output}"))


@pytest.mark.full
def test_a_mixture_trains_alike_in_both_placements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused, staged = make_place(tmp_path / "fused"), make_place(tmp_path / "staged")
    run = ("run", "--name", "r", "--runner", "inprocess")
    monkeypatch.chdir(fused.folder)
    assert fused.call(*run, "--iterations", "1") == 0
    monkeypatch.chdir(staged.folder)
    placement = ("--set", "rollout.placement=staged")
    assert staged.call(*run, "--iterations", "1", *placement) == 0
    assert staged.weights("r", 1) == fused.weights("r", 1)
    rows = [
        records.read_rows(steps(place, "group/*/samples")[0], Sample) for place in (fused, staged)
    ]
    assert rows[0] == rows[1]
    tasks = {row.scored.candidate.turn.task_id for row in rows[0]}
    assert sorted(task.split("/")[0] for task in tasks) == ["alone"] + ["pair"] * 5
    assert len(steps(staged, "sample_turn/*/manifest.json")) == 4
    assert fused.state("r", 1).next_task == 6
    played = records.read_rows(steps(fused, "evaluate/*/evaluation")[0], Episode)
    assert {(episode.env, episode.benchmark) for episode in played} >= {
        ("alone", "validation"), ("pair", "validation"), ("pair", "test"),
    }  # fmt: skip


@pytest.mark.full
def test_fault_11_a_killed_mixture_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    run = ("run", "--name", "r", "--runner", "inprocess")
    plain, killed = make_place(tmp_path / "plain"), make_place(tmp_path / "killed")
    assert plain.run(*run).returncode == 0
    kill_in_turn(killed, run, STEPS)
    for iteration in (1, 2):
        assert killed.weights("r", iteration) == plain.weights("r", iteration)
        both = [
            steps(place, "rollout/*/scored", iteration)[0].read_bytes() for place in (plain, killed)
        ]
        assert both[0] == both[1]


def test_other_weights_are_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from components.state import register_run
    from components.storage import open_store

    place = make_place(tmp_path / "place")
    monkeypatch.chdir(place.folder)
    register_run(open_store(place.config.storage), "r", place.config)
    assert place.call("run", "--name", "r", "--set", "envs.pair.weight=0.8") == 2
    assert "envs.pair.weight: was 0.75, is 0.8" in capsys.readouterr().err
