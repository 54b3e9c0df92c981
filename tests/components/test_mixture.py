"""Several environments in one configuration: what is refused, and what stays as it was."""

import json
from typing import Any

import pytest

from components.config import ExperimentConfig, decisive, parse_config
from components.env_execution.environments import open_benchmark, open_environments
from components.errors import ConfigError
from components.members import open_members
from components.state import differences
from envs.base import Split
from tests.doubles.experiment import content, make_config
from tests.doubles.teams import TRACER

GAMES: dict[str, Any] = {"plan_path": {"weight": 0.7}, "sokoban": {"weight": 0.3}}
TEAM = {"tool": "tool", "planner": "plan"}


def mixed(envs: Any = None, **changes: Any) -> ExperimentConfig:
    values = content(envs=GAMES if envs is None else envs, roles=TEAM) | changes
    return parse_config({key: value for key, value in values.items() if key != "env"})


def test_the_other_form_is_not_written_down() -> None:
    single = json.loads(make_config().to_json())
    assert "env" in single and "envs" not in single
    several = json.loads(mixed().to_json())
    assert "envs" in several and "env" not in several
    assert parse_config(several) == mixed() and parse_config(several).digest() == mixed().digest()


def test_weights_and_options_decide() -> None:
    other = {**GAMES, "sokoban": {"weight": 0.4}}
    assert mixed(other).digest() != mixed().digest()
    assert mixed({**GAMES, "sokoban": {"weight": 0.3, "reward": "dense"}}).digest() == (
        mixed().digest()
    )
    lines = differences(*(decisive(json.loads(it.to_json())) for it in (mixed(), mixed(other))))
    assert lines == ["envs.sokoban.weight: was 0.3, is 0.4"]


def test_the_order_in_the_file_decides_nothing() -> None:
    backwards = mixed(dict(reversed(GAMES.items())))
    assert backwards.digest() == mixed().digest()
    assert list(backwards.environments) == list(mixed().environments) == sorted(GAMES)
    assert [member.name for member in open_members(backwards)] == sorted(GAMES)


def test_a_single_environment_is_a_mixture_of_one() -> None:
    (member,) = open_members(make_config(roles=TEAM))
    assert (member.name, member.share, member.num_evaluation_tasks) == ("plan_path", 1, 200)
    assert make_config().env_names == "plan_path" and mixed().env_names == "plan_path + sokoban"


def test_members_have_their_own_limits() -> None:
    games = {
        "plan_path": {"weight": 3, "num_turns": 2},
        "hard": {"name": "plan_path", "options": {"min_distance": 9}, "num_evaluation_tasks": 7,
                 "evaluation_weight": 3},
    }  # fmt: skip
    hard, easy = open_members(mixed(games))
    assert (easy.num_turns, hard.num_turns) == (2, 4)
    assert (easy.share * 4, hard.share * 4) == (3, 1)
    assert (easy.evaluation_share * 2, hard.num_evaluation_tasks) == (1, 7)
    assert hard.env.tasks(Split.TRAIN, 0, 0, 1)[0].task_id == "hard/plan_path/train/0/0"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"envs": {}}, "^configuration: env: missing; expected `env`, or several"),
        ({"env": {"name": "plan_path"}}, "env and envs are both given; expected one of them"),
        ({"envs": {"sokoban": {"weight": 0}}}, "envs.sokoban.weight: Input should be greater than"),
        ({"envs": {"sokoban": {"weight": "x"}}}, "envs.sokoban.weight: Input should be a valid nu"),
        ({"envs": {"sokoban": {"wieght": 1}}}, "envs.sokoban.wieght: unknown key"),
        ({"envs": {"Maze!": {}}}, "envs.Maze!.*: String should match pattern"),
        ({"envs": {"swapped": {}}}, r"envs \['swapped'\] have names of teams"),
        (
            {"envs": {"sokoban": {"roles": {"tool": "coder"}}}},
            r"envs.sokoban.roles.tool is 'coder'; expected one of \['planner', 'tool'\]",
        ),
        (
            {"envs": {"sokoban": {"roles": {"tool": "tool", "planner": "tool"}}}},
            "envs.sokoban.roles: the team's role 'tool' plays two roles",
        ),
        (
            {"grouping": {"key": ["turn", "role"], "allow_impure": True}},
            "would compare rewards of different environments",
        ),
        (
            {"evaluation": {"benchmarks": {"far": {}}}},
            r"evaluation.benchmarks.far.env: missing; expected one of \['plan_path', 'sokoban'\]",
        ),
    ],
)
def test_wrong_values_are_one_line(changes: dict[str, Any], words: str) -> None:
    values = content(envs=GAMES, roles=TEAM)
    del values["env"]
    with pytest.raises(ConfigError, match=words) as caught:
        parse_config(values | changes)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("envs", "roles", "words"),
    [
        ({"sokobn": {}}, TEAM, "^envs.sokobn.name is 'sokobn'; expected one of"),
        ({"easy": {"name": "maze"}}, TEAM, "^envs.easy.name is 'maze'; expected one of"),
        ({"sokoban": {"reward": "rich"}}, TEAM, "^envs.sokoban.reward is 'rich'"),
        ({"sokoban": {"options": {"hight": 6}}}, TEAM, "^envs.sokoban: sokoban option hight: "),
        ({"sokoban": {"roles": {"judge": "tool"}}}, TEAM, r"^envs.sokoban: roles: unknown \['ju"),
        (
            {**GAMES, "code": {}}, TEAM,
            r"roles \['coder', 'tester'\] of environment 'code' are played by nobody; the team has "
            r"\['tool', 'planner'\]: add them to `roles`, or say in envs.code.roles",
        ),
        (GAMES, {**TEAM, "judge": "plan"}, r"roles \['judge'\] have nothing to do in any environ"),
    ],
)  # fmt: skip
def test_environments_that_do_not_fit_are_one_line(envs: Any, roles: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        open_environments(mixed(envs, roles=roles))
    assert len(str(caught.value).splitlines()) == 1


def test_benchmarks_of_a_mixture() -> None:
    benchmarks = {
        "far": {"env": "sokoban", "options": {"min_pushes": 4}, "num_tasks": 5},
        "other": {"env": TRACER, "options": {"roles": ["tool"]}},
        "alien": {"env": TRACER},
    }
    config = mixed(evaluation={"benchmarks": benchmarks})
    far = open_benchmark(config, "far")
    assert (far.name, far.num_evaluation_tasks) == ("sokoban", 5)
    assert open_benchmark(config, "other").env.roles == ("tool",)
    with pytest.raises(ConfigError, match=r"^evaluation.benchmarks.alien: roles \['A', 'B'\] of"):
        open_benchmark(config, "alien")
