"""Environments by name: built in, installed by third parties, or `module:Class`.

A third party registers a factory under the entry-point group `rolewise.environments`; nothing is
imported before it is asked for.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple, cast

from envs.base import JSON, Environment, EnvironmentFactory

GROUP = "rolewise.environments"
BUILT_IN: Mapping[str, str] = {
    "maths": "envs.maths.environment:make_maths",
    "code": "envs.code.environment:make_code",
    "plan_path": "envs.plan_path.environment:make_plan_path",
    "reasoning_gym": "envs.reasoning_gym.environment:make_reasoning_gym",
    "sokoban": "envs.sokoban.environment:make_sokoban",
    "sudoku": "envs.sudoku.environment:make_sudoku",
}
"""name -> `module:factory`."""
_MEMBERS = ("name", "version", "roles", "order", "reward", "reward_presets", "tasks", "reset",
            "observe", "step", "encode_state", "decode_state")  # fmt: skip


class Recipe(NamedTuple):
    """How any process makes the same environment."""

    name: str
    options: Mapping[str, JSON]
    reward: str

    def make(self) -> Environment:
        """`make_environment` of it."""
        return make_environment(self.name, self.options, self.reward)


def available() -> list[str]:
    """Names that `make_environment` knows, sorted; `module:Class` works besides."""
    return sorted({*BUILT_IN, *_installed()})


def make_environment(name: str, options: Mapping[str, JSON], reward: str) -> Environment:
    """Build the environment `name` from its options and reward preset.

    Raises ValueError that names the field, the value and what is allowed.
    """
    try:
        env = _factory(name)(options, reward)
    except TypeError as error:
        raise ValueError(
            f"env.name is {name!r}; it cannot be called as a factory ({error}); "
            "expected `factory(options, reward)`, see EnvironmentFactory in envs/base.py"
        ) from error
    missing = [member for member in _MEMBERS if not hasattr(env, member)]
    if missing:
        raise ValueError(f"env.name is {name!r}; what it builds lacks {missing} of Environment")
    if reward not in env.reward_presets:
        allowed = sorted(env.reward_presets)
        raise ValueError(f"env.reward is {reward!r}; {name} has the presets {allowed}")
    return env


def _factory(name: str) -> EnvironmentFactory:
    """Built-in names come first: an installed package cannot replace one silently."""
    if name in BUILT_IN:
        return _load(name, BUILT_IN[name])
    installed = _installed()
    if name in installed:
        return _load(name, installed[name].value)
    if ":" in name:
        return _load(name, name)
    raise ValueError(f"env.name is {name!r}; expected one of {available()} or `module:Class`")


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _load(name: str, target: str) -> EnvironmentFactory:
    module, _, attribute = target.partition(":")
    try:
        factory: object = import_module(module)
        for part in attribute.split("."):
            factory = getattr(factory, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"env.name is {name!r}; {target!r} cannot be loaded ({error}); expected an importable "
            "`module:Class` (is its package installed, or its folder on PYTHONPATH?)"
        ) from error
    if not callable(factory):
        raise ValueError(f"env.name is {name!r}; {target!r} is not callable, expected a factory")
    return cast(EnvironmentFactory, factory)
