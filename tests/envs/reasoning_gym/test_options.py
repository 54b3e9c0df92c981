"""What may be asked for, and one clear sentence for what may not."""

import pytest

from envs.base import Split
from envs.reasoning_gym import verdicts
from envs.registry import make_environment
from tests.envs.reasoning_gym.questions import make_env

REFUSED = ("boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour",
           "game_of_life_halting", "puzzle24", "intermediate_integration")  # fmt: skip


@pytest.mark.parametrize("task", REFUSED)
def test_generators_that_cannot_be_graded_are_refused_by_name(task):
    with pytest.raises(ValueError, match=rf"reasoning_gym option task: '{task}' is refused: .*scor|"
                       rf"'{task}' is refused: its grader"):  # fmt: skip
        make_env(task)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"task": "chess"},
            r"option task: 'chess' is no generator of reasoning-gym .* expected one",
        ),
        ({"tasks": "gcd"}, r"option tasks: unknown, got 'gcd'"),
        ({"config": {"terms": 3}}, r"option config.terms: unknown, got 3; chain_sum has \["),
        ({"config": {"seed": 3}}, r"option config.seed: got 3; the stream of tasks sets it"),
        ({"config": {"min_terms": 0}}, r"config.min_terms: chain_sum says: min_terms must be .* 0"),
        ({"config": {"min_terms": "two"}}, r"config.min_terms: chain_sum says: .* got 'two'"),
        ({"config": {"allow_negation": "maybe"}}, r"config.allow_negation: .* got 'maybe'"),
        ({"config": 3}, r"option config: .* got 3"),
        ({"roles": "crowd"}, r"option roles: .* got 'crowd'"),
        ({"order": "parallel"}, r"order parallel needs roles team, got single"),
        ({"pool_digest": "0" * 64}, r"pool_digest needs pool, got none"),
        ({"pool": "/nowhere/pool.jsonl"}, r"option pool: /nowhere/pool.jsonl cannot be read"),
        ({"prompt_style": "compact"}, r"option prompt_style: .* got 'compact'"),
    ],
)
def test_faults_name_the_option_the_value_and_what_is_allowed(options, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        make_environment("reasoning_gym", {"task": "chain_sum", **options}, "dense")
    assert len(str(caught.value).splitlines()) == 1


def test_an_unknown_reward_is_named():
    with pytest.raises(ValueError, match=r"'dens'; expected one of \['dense', 'outcome'\]"):
        make_env(reward="dens")


def test_generators_that_differ_between_processes_need_a_pool():
    with pytest.raises(ValueError, match=r"'ransom_note' makes other entries .* expected a pool"):
        make_env("ransom_note")


def test_another_version_of_the_package_is_refused(monkeypatch):
    monkeypatch.setattr(verdicts, "installed_version", lambda: "9.9")
    with pytest.raises(ValueError, match=r"reasoning-gym 9.9 is installed, but 0.1.25 was audited"):
        make_env("chain_sum")


def test_config_reaches_the_generator():
    env = make_env("chain_sum", config={"min_terms": 2, "max_terms": 2, "max_digits": 1})
    for task in env.tasks(Split.TRAIN, 0, 0, 5):
        assert task.payload["config"] == {"min_terms": 2, "max_terms": 2, "max_digits": 1}
        assert env.reset(task)
        terms = task.payload["entry"]["question"].split(":")[-1]
        assert sum(sign in "+-" for sign in terms.split("=")[0].split()) == 1
