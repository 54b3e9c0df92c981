"""A team's episode on the terminal is the episode that evaluation plays."""

import hashlib
import json
from pathlib import Path

import pytest

from components.config import ExperimentConfig
from components.engine import Request
from components.env_execution.environments import open_environments
from components.env_execution.rules import evaluation_rules, evaluation_sampling
from components.errors import ConfigError, RolewiseError
from components.models.asking import EngineTeam
from components.policies import Team
from components.rollout.play import play
from envs.base import Split
from pipelines.playing import Choice, play_episode
from pipelines.teams import FoundTeam
from tests.components.rollout_engines.tiny_team import make_store
from tests.doubles.engine import FakeEngine
from tests.doubles.teams import make_ref
from tests.pipelines.experiment import make_config

WORDS = ("[right, right]", "[down]", "[up, left]", "[down, right, down]", "nonsense")
OPTIONS = {"height": 6, "width": 6, "num_walls": 4, "tool": "moves", "action_language": "moves"}


def greedy(request: Request, position: int) -> str:
    """A text that depends on who is asked what, and not on a seed."""
    key = json.dumps([request.policy, list(request.messages)]).encode()
    return WORDS[hashlib.sha256(key).digest()[0] % len(WORDS)]


def found(folder: Path, config: ExperimentConfig | None = None) -> FoundTeam:
    config = config or make_config(env={"name": "plan_path", "options": OPTIONS})
    team = Team({"tool": make_ref("tool"), "planner": make_ref("planner")}, config.roles)
    return FoundTeam("wired", "r", 1, team, config, make_store(folder), None)


def engine_team(engine: FakeEngine, team: FoundTeam) -> EngineTeam:
    return EngineTeam(engine, team.team.roles, evaluation_sampling(team.config))


def choice(**changes: object) -> Choice:
    given = {
        "env": None, "split": Split.VALIDATION, "seed": 0, "index": 0, "people": (),
        "prompts": False,
    } | changes  # fmt: skip
    return Choice(**given)  # type: ignore[arg-type]


def test_it_is_the_episode_of_the_evaluation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team, ours, theirs = found(tmp_path), FakeEngine(greedy), FakeEngine(greedy)
    (member,) = open_environments(team.config)
    rules = evaluation_rules(team.config, team.config.roles)
    for index in range(4):
        tasks = member.env.tasks(Split.VALIDATION, 0, index, 1)
        played = play(theirs, member.env, tasks, rules, evaluation_sampling(team.config))
        status = play_episode(team, engine_team(ours, team), choice(index=index))
        assert status is played.episodes[0].status
        shown = capsys.readouterr().out
        for row in played.scored:
            assert f"--- {row.candidate.turn.role} writes\n{row.candidate.text}\n" in shown


def test_what_is_asked_is_what_evaluation_asks(tmp_path: Path) -> None:
    team, ours, theirs = found(tmp_path), FakeEngine(greedy), FakeEngine(greedy)
    (member,) = open_environments(team.config)
    tasks = member.env.tasks(Split.VALIDATION, 5, 0, 1)
    rules = evaluation_rules(team.config, team.config.roles)
    play(theirs, member.env, tasks, rules, evaluation_sampling(team.config))
    play_episode(team, engine_team(ours, team), choice(seed=5))
    assert ours.prompts == theirs.prompts
    assert set(ours.samplings) == set(theirs.samplings)


def test_an_answer_that_fails_ends_it(tmp_path: Path) -> None:
    team = found(tmp_path)
    engine = FakeEngine(lambda request, position: None)
    with pytest.raises(RolewiseError, match="tool has no answer: scripted failure"):
        play_episode(team, engine_team(engine, team), choice())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env": "sudoku"}, r"--env sudoku: expected one of \['plan_path'\]"),
        ({"people": ("judge",)}, r"--role judge: expected one of \['tool', 'planner'\]"),
    ],
)
def test_wrong_choices_are_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    team = found(tmp_path)
    with pytest.raises(ConfigError, match=message):
        play_episode(team, engine_team(FakeEngine(greedy), team), choice(**changes))
