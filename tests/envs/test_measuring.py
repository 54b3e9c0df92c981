"""The figures of READMEs: solved means solved by the environment, and turns are counted from 0."""

from random import Random

from envs.base import Split, State
from envs.measuring import demonstrations, success, turns_per_second
from envs.plan_path.__main__ import QUICKSTART, _perfect
from envs.plan_path.environment import make_plan_path

ENV = make_plan_path(QUICKSTART, "dense")
TASKS = ENV.tasks(Split.VALIDATION, 0, 0, 20)


def test_a_perfect_team_solves_all_at_once_and_a_silent_one_nothing() -> None:
    perfect = success(ENV, TASKS, lambda state, role: _perfect(ENV, state, role))
    assert perfect == "100.0% solved within 3 turns, 100.0% in the first"
    silent = success(ENV, TASKS, lambda state, role: "")
    assert silent == "0.0% solved within 3 turns, 0.0% in the first"


def test_a_late_solution_is_not_in_the_first_turn() -> None:
    asked: list[str] = []

    def late(state: State, role: str) -> str:
        asked.append(role)
        return "" if len(asked) <= len(ENV.roles) else _perfect(ENV, state, role)

    found = success(ENV, TASKS[:1], late)
    assert found == "100.0% solved within 3 turns, 0.0% in the first"
    assert asked == [*ENV.roles, *ENV.roles]


def test_words_of_the_longest_prompt_and_answer() -> None:
    _, (prompt, answer) = demonstrations(ENV, TASKS, Random(0))
    assert 14 < prompt < 40 and 0 < answer <= ENV.options.word_limit
    assert turns_per_second(ENV, TASKS) > 0
