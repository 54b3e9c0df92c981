"""The installed package, imported when it is first needed: its generators by name and options.

Nothing else here imports `reasoning_gym`. Graders of the package that hand an answer to Python's
`eval` get one that reads literals only; those that hand it to SymPy are fenced in `inert.py`.
"""

import ast
import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from threading import Lock
from typing import Any

from envs.base import JSON

PACKAGE = "reasoning-gym"
OWN = ("seed", "size")
"""Options of every generator that belong to the stream."""
_COMPOSITE = "composite"
"""Mixes other generators; a mixture here is several benchmarks or runs."""
DRAW_AT_ONCE = ("acre", "gsm_symbolic", "list_functions")
"""Use their seed when they are made, not when an entry is asked for."""
_LOCK = Lock()
_EVALUATING = (
    "algorithmic.binary_matrix", "algorithmic.spiral_matrix", "algorithmic.string_insertion",
    "games.n_queens",
)  # fmt: skip
Entry = Mapping[str, Any]
"""question, answer, metadata."""


def installed_version() -> str:
    """Of the package, without importing it."""
    return version(PACKAGE)


def names() -> list[str]:
    """All generators of the installed package."""
    return sorted(set(_factory().DATASETS) - {_COMPOSITE})


def check_config(task: str, config: Mapping[str, JSON]) -> None:
    """ValueError that names the generator's option, the value and what is allowed."""
    cls = _factory().DATASETS[task][1]
    known = sorted({field.name for field in fields(cls)} - set(OWN))
    for name, value in config.items():
        if name in OWN:
            raise ValueError(
                f"reasoning_gym option config.{name}: got {value!r}; the stream of tasks sets it, "
                f"expected one of {known}"
            )
        if name not in known:
            raise ValueError(
                f"reasoning_gym option config.{name}: unknown, got {value!r}; {task} has {known}"
            )
    try:
        _configured(task, config)
    except Exception as error:  # assertions, type errors: whatever the package checks with
        raise ValueError(_fault(task, config, error)) from error


def _fault(task: str, config: Mapping[str, JSON], error: Exception) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    named = [name for name in config if name in reason]
    where = f"config.{named[0]}" if len(named) == 1 else "config"
    value = config[named[0]] if len(named) == 1 else dict(config)
    return f"reasoning_gym option {where}: {task} says: {reason}; got {value!r}"


def make_entry(task: str, config: Mapping[str, JSON], seed: int) -> Entry:
    """The generator's first entry under a seed of its own.

    Some generators draw from the global random states: these are set for the call. Those that load
    data are loaded once and given the seed.
    """
    with _LOCK, _global_seeds(seed):
        if task in DRAW_AT_ONCE:
            dataset = _factory().create_dataset(task, seed=seed, size=1, **_plain(task, config))
        else:
            dataset = _loaded(task, json.dumps(dict(config), sort_keys=True))
            dataset.seed = dataset.config.seed = seed
        entry: Entry = dataset[0]
    return entry


@lru_cache(maxsize=16)
def _loaded(task: str, config: str) -> Any:
    return _factory().create_dataset(task, seed=0, size=1, **_plain(task, json.loads(config)))


@lru_cache(maxsize=16)
def grader(task: str, config: str) -> Any:
    """The generator's dataset, of which `score_answer` is used. `config`: canonical JSON."""
    _read_literals_only()
    return _factory().create_dataset(task, seed=0, size=1, **_plain(task, json.loads(config)))


def _configured(task: str, config: Mapping[str, JSON]) -> None:
    """Types as the generator's configuration declares them, then its own rules."""
    from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

    cls = _factory().DATASETS[task][1]
    try:
        TypeAdapter(cls).validate_python({"seed": 0, "size": 1, **config})
    except PydanticSchemaGenerationError:
        pass
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise ValueError(f"{where}: {fault['msg']}") from error
    made = cls(**_plain(task, config))
    if hasattr(made, "validate"):
        made.validate()


def _plain(task: str, config: Mapping[str, JSON]) -> dict[str, Any]:
    """Options as the generator takes them: lists become tuples where the default is a tuple."""
    cls = _factory().DATASETS[task][1]
    defaults = {field.name: field.default for field in fields(cls)}
    return {
        name: tuple(value) if isinstance(defaults.get(name), tuple) and isinstance(value, list)
        else value
        for name, value in config.items()
    }  # fmt: skip


@lru_cache(maxsize=1)
def _factory() -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("reasoning_gym")
        return import_module("reasoning_gym.factory")


@lru_cache(maxsize=1)
def _read_literals_only() -> None:
    """In these modules the name `eval` is `ast.literal_eval`: text of a model is never run."""
    for name in _EVALUATING:
        vars(import_module(f"reasoning_gym.{name}"))["eval"] = ast.literal_eval


@contextmanager
def _global_seeds(seed: int) -> Iterator[None]:
    import numpy as np

    before, numpy_before = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)
