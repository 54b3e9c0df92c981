"""Names become environments; wrong names and options become sentences."""

from importlib.metadata import EntryPoint

import pytest

from envs import registry
from envs.registry import available, make_environment


def test_built_in_by_name():
    env = make_environment("plan_path", {"height": 5, "width": 5}, "outcome")
    assert (env.name, env.reward, env.roles) == ("plan_path", "outcome", ("tool", "planner"))
    assert "plan_path" in available()


def test_module_and_class():
    target = "envs.plan_path.environment:make_plan_path"
    assert make_environment(target, {}, "dense").name == "plan_path"


def test_entry_points_are_found_and_cannot_replace_a_built_in(monkeypatch):
    theirs = "envs.plan_path.environment:make_plan_path"
    found = [
        EntryPoint("maze", theirs, registry.GROUP),
        EntryPoint("plan_path", "nowhere:Nothing", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)
    assert available() == sorted(["maze", *registry.BUILT_IN])
    assert make_environment("maze", {}, "dense").name == "plan_path"
    assert make_environment("plan_path", {}, "dense").name == "plan_path"


@pytest.mark.parametrize(
    ("name", "options", "reward", "sentence"),
    [
        ("chess", {}, "dense", "env.name is 'chess'; expected one of ["),
        ("no_such.module:Env", {}, "dense", "cannot be loaded"),
        ("envs.base:Nothing", {}, "dense", "cannot be loaded"),
        ("envs.base:", {}, "dense", "cannot be loaded"),
        ("json:JSONDecoder", {}, "dense", "cannot be called as a factory"),
        ("envs.plan_path.walk:NOWHERE", {}, "dense", "is not callable"),
        ("plan_path", {}, "sparse", "'sparse'; expected one of ['dense', 'outcome']"),
        ("plan_path", {"hight": 3}, "dense", "plan_path option hight: unknown, got 3; the options"),
        ("plan_path", {"height": 1}, "dense", "option height: Input should be greater than"),
        ("plan_path", {"tool": "axe"}, "dense", "got 'axe'"),
        ("plan_path", {"num_walls": 99}, "dense", "num_walls 99 leaves 1 free cells"),
        ("plan_path", {"min_distance": 90}, "dense", "min_distance 90 needs more than 78"),
        (
            "plan_path",
            {"demonstrations": {"all_walls": 0.9}},
            "dense",
            "option demonstrations: all_walls + no_walls + some_walls is 1.65, expected at most 1",
        ),
        ("plan_path", {"demonstrations": {"x": 1}}, "dense", "option demonstrations.x: unknown"),
    ],
)
def test_errors_name_field_value_and_what_is_allowed(name, options, reward, sentence):
    with pytest.raises(ValueError) as caught:
        make_environment(name, options, reward)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_factory_that_builds_something_else():
    with pytest.raises(ValueError, match="lacks .*'observe'"):
        make_environment("tests.envs.broken_factories:make_bare", {}, "dense")
