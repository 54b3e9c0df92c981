"""Comparisons with answers known beforehand, and those that are refused."""

from collections.abc import Sequence
from typing import Any

import pytest

from components.comparison.compare import compare
from components.comparison.outcomes import HeldOut, Outcome, task_source
from components.comparison.text import comparison_text
from components.errors import ConfigError
from components.intervals import paired_difference
from tests.doubles.teams import TRACER, make_config

NAMES = ("old", "new")
SOURCE = {"env": "e", "digest": "d"}


def team(
    solved: Sequence[bool], reward: float | None = None, turns: int = 2, env: str = "e"
) -> HeldOut:
    rewards = {} if reward is None else {"tool": reward}
    outcomes = {f"{env}/{i}": Outcome(env, won, turns, rewards) for i, won in enumerate(solved)}
    return HeldOut("r", 1, "evaluate", SOURCE, outcomes)


def test_ten_more_of_twenty() -> None:
    """12 wins, 2 losses: p = 2 (1 + 14 + 91) / 2^14."""
    first = team([True] * 12 + [False] * 2 + [True] * 6, reward=0.5)
    second = team([False] * 12 + [True] * 2 + [True] * 6, reward=0.25, turns=3)
    result = compare(first, second, NAMES)
    part = result["environments"]["all"]
    assert part["success"]["first"] == 0.9 and part["success"]["second"] == pytest.approx(0.4)
    assert part["success"]["difference"] == pytest.approx(0.5)
    assert part["mcnemar"] == {"only_first": 12, "only_second": 2, "p": 212 / 2**14}
    assert (part["turns"]["difference"], part["turns"]["low"]) == (-1.0, -1.0)
    assert part["rewards"]["tool"]["difference"] == 0.25
    assert part["success"]["low"] > 0.1
    assert result["verdict"].startswith("old is better than new: success 90.0 % against 40.0 %")
    exact = paired_difference(
        [o.solved for o in first.outcomes.values()], [o.solved for o in second.outcomes.values()]
    )
    assert part["score"]["low"] == exact.low


def test_the_other_way_round_and_no_difference() -> None:
    better, worse = team([True] * 19 + [False]), team([False] * 15 + [True] * 5)
    back, forth = (compare(*pair, NAMES) for pair in ((worse, better), (better, worse)))
    told = back["verdict"].removeprefix("new is better than old: ")
    assert told.startswith("success 95.0 % against 25.0 %, +70.0 points")
    assert forth["verdict"] == f"old is better than new: {told}"
    even = compare(team([True, False] * 10), team([False, True] * 10), NAMES)
    assert even["verdict"].startswith("no clear difference between old and new")
    assert even["environments"]["all"]["mcnemar"]["p"] == 1.0


def test_few_wins_are_not_called_better() -> None:
    """The bootstrap of 4 wins in 20 leaves out 0, the exact test does not: p = 2 / 16."""
    result = compare(team([True] * 4 + [False] * 16), team([False] * 20), NAMES)
    part = result["environments"]["all"]
    assert part["success"]["low"] > 0 and part["mcnemar"]["p"] == 0.125
    assert result["verdict"].startswith("no clear difference")


def test_environments_are_shown_apart_and_added_by_their_shares() -> None:
    def both(a: Sequence[bool], b: Sequence[bool]) -> HeldOut:
        one, two = team(a, env="one"), team(b, env="two", reward=1.0)
        return HeldOut("r", 1, "evaluate", SOURCE, {**one.outcomes, **two.outcomes})

    first = both([True] * 10, [True] * 5 + [False] * 25)
    second = both([False] * 10, [False] * 30)
    result = compare(first, second, NAMES, shares={"one": 0.25, "two": 0.75})
    parts = result["environments"]
    assert list(parts) == ["all", "one", "two"]
    assert parts["one"]["success"]["difference"] == 1.0
    assert parts["two"]["success"]["difference"] == pytest.approx(1 / 6)
    assert parts["all"]["success"]["difference"] == pytest.approx(0.25 + 0.75 / 6)
    assert parts["all"]["rewards"]["tool"]["num_tasks"] == 30
    plain = compare(first, second, NAMES)["environments"]["all"]
    assert plain["success"]["difference"] == pytest.approx(15 / 40)


def test_shares_that_turn_the_success_round_make_no_verdict() -> None:
    """The first team won 9 tasks of the small game, the second 30 of the large one."""

    def both(a: Sequence[bool], b: Sequence[bool]) -> HeldOut:
        outcomes = {**team(a, env="small").outcomes, **team(b, env="large").outcomes}
        return HeldOut("r", 1, "evaluate", SOURCE, outcomes)

    first = both([True] * 9 + [False], [False] * 100)
    second = both([False] * 10, [True] * 30 + [False] * 70)
    result = compare(first, second, NAMES, shares={"small": 0.9, "large": 0.1})
    part = result["environments"]["all"]
    assert part["success"]["low"] > 0 and part["mcnemar"]["p"] < 0.01
    assert result["verdict"].startswith("no clear difference between old and new")


def test_a_benchmark_of_an_environment_without_a_share_is_compared() -> None:
    shares = {"one": 0.5, "two": 0.5}
    result = compare(team([True] * 9), team([False] * 9), NAMES, shares=shares)
    assert result["environments"]["all"]["success"]["difference"] == 1.0


def test_different_tasks_are_refused_with_numbers() -> None:
    with pytest.raises(
        ConfigError, match="old was played on 9 .* new on 7, of which 7 .*--evaluate"
    ):
        compare(team([True] * 9), team([True] * 7), NAMES)
    other = HeldOut("r", 1, "x", {"env": "e", "digest": "other"}, team([True]).outcomes)
    with pytest.raises(
        ConfigError, match=r"e \(options d\), new on e \(options other\).*ids may be"
    ):
        compare(team([True]), other, NAMES)


def test_the_table_ends_with_the_verdict() -> None:
    result = compare(team([True] * 9, 0.5), team([True] * 9, 0.5), NAMES)
    lines = comparison_text(result).splitlines()
    assert lines[-1] == result["verdict"]
    assert any("r(tool)" in line and "0.500" in line for line in lines)
    bare = compare(team([True]), team([True]), NAMES)
    assert "--evaluate plays again" in comparison_text(bare)


@pytest.mark.parametrize("rewards", [{}, {"planner": 0.5, "a_role_with_a_long_name": -1.25}])
def test_the_table_fits_a_terminal_and_its_columns_are_aligned(rewards: dict[str, float]) -> None:
    """With long names of teams and environments, p-values, and with or without rewards."""
    envs = ("reasoning_gym_of_many_generators_for_long_names", "maze")
    outcomes = {
        f"{env}/{i}": Outcome(env, i % 3 > 0, 2, rewards) for env in envs for i in range(120)
    }
    first = HeldOut("r", 1, "evaluate", SOURCE, outcomes)
    names = ("experiments/quickstart/config.yaml:8", "quickstart-seed-0@champion")
    result = compare(first, first, names)
    lines = comparison_text(result).splitlines()
    assert lines[:3] == [f"A  {names[0]}", f"B  {names[1]}", ""]
    assert lines[-1] == result["verdict"]
    table = lines[3 : lines.index("", 3)]
    assert max(map(len, table)) <= 80
    starts = [line for line in table if not line.startswith(" ")]
    assert starts == ["all: 240 tasks", "maze: 120 tasks", f"{envs[0]}: 120 tasks"]
    head = table[0].index("difference") + len("difference")
    rows = [line for line in table[1:] if line[head - 1 : head + 2].strip() and line not in starts]
    assert len(rows) == 3 * (3 + (len(rewards) or 1))
    assert all(line[head - 1] != " " and line[head : head + 2].strip() == "" for line in rows)


def test_short_names_head_their_columns() -> None:
    result = compare(team([True] * 9, 0.5), team([True] * 9, 0.5), ("first:3", "pairs:3"))
    head = comparison_text(result).splitlines()[0]
    assert head.split() == ["first:3", "pairs:3", "difference", "95", "%", "interval"]


def test_the_source_of_tasks_is_environment_and_options(tmp_path: Any) -> None:
    def source(benchmark: str = "validation", reward: str = "dense", **options: Any) -> Any:
        env = {"name": TRACER, "options": options, "reward": reward}
        benchmarks = {"few": {"options": {"num_tasks": 3}}}
        config = make_config(str(tmp_path), env=env, evaluation={"benchmarks": benchmarks})
        return task_source(config, benchmark)

    assert source() == source(reward="dense") == source("test")
    assert source(num_tasks=4) != source()
    assert source("few") != source() and source("few", num_tasks=9) == source("few")


def test_the_source_of_a_benchmark_is_the_game_whatever_it_is_called_here(tmp_path: Any) -> None:
    def source(game: str) -> Any:
        envs = {"board": {"name": game}, "other": {"name": "sudoku"}}
        config = make_config(
            str(tmp_path), env=None, envs=envs, evaluation={"benchmarks": {"few": {"env": "board"}}}
        )
        return task_source(config, "few")

    assert source("plan_path") != source("sokoban")
    assert source("plan_path")["env"] == "plan_path"
