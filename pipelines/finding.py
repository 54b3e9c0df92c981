"""Finds a run by its name or by its experiment's file, with the configuration it is bound to."""

import difflib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.config import ExperimentConfig, load_config, parse_config
from components.errors import ConfigError
from components.settings import StorageConfig
from components.storage import Store, open_store
from pipelines.driver import run_name

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class FoundRun:
    """A run that exists in a store."""

    name: str
    config: ExperimentConfig
    """As the run was begun with; its storage is where it was found."""
    store: Store


def find_run(text: str, store_uri: str | None = None) -> FoundRun:
    """The run with this name, or the unnamed run of this YAML file.

    A file says how many iterations there shall be, and its store if `store_uri` is None; for a name
    it is what the run began with, and the default store. ConfigError names the runs
    that the store has if it has no such one.
    """
    if is_file(text):
        return find_run_of(text, store_uri, None, [])
    storage = StorageConfig() if store_uri is None else StorageConfig(uri=store_uri)
    return _found(text, storage, None)


def find_run_of(
    path: str, store_uri: str | None, name: str | None, overrides: Sequence[str]
) -> FoundRun:
    """The run that this file and `overrides` began, under this name.

    ConfigError also if it was begun with other settings.
    """
    config = _stored_at(load_config(path, overrides), store_uri)
    found = _found(run_name(config, name), config.storage, config.iterations)
    if found.config.digest() != config.digest():
        raise ConfigError(
            f"run {found.name!r} was begun with other settings than {path} and --set give; by its "
            "name alone it is found with its own"
        )
    return found


def _found(name: str, storage: StorageConfig, total: int | None) -> FoundRun:
    store = open_store(storage)
    runs = run_names(store)
    if name not in runs:
        raise ConfigError(f"run {name!r} is not in {store.uri}; {_hint(name, runs)}")
    stored = read_config(store, name, storage)
    return FoundRun(
        name, stored.model_copy(update={"iterations": total or stored.iterations}), store
    )


def is_file(text: str) -> bool:
    """Whether RUN names a file, also one that is missing, rather than a run."""
    return text.endswith(_SUFFIXES) or os.path.isfile(text)  # a long name is none: no OSError


def run_names(store: Store) -> list[str]:
    """The names of all runs that were begun in a store."""
    keys = [key.split("/") for key in store.list("runs/")]
    return [parts[1] for parts in keys if len(parts) == 3 and parts[2] == "config.json"]


def read_config(store: Store, run: str, storage: StorageConfig) -> ExperimentConfig:
    """The configuration that a run's name is bound to, with the storage it was found in."""
    key = f"runs/{run}/config.json"
    if not store.exists(key):
        raise ConfigError(
            f"run {run!r} is not in {store.uri}; was it moved, or is this another folder? --store"
        )
    try:
        content: Any = json.loads(store.read(key))
        if not isinstance(content, dict):
            raise ValueError(f"holds {type(content).__name__}, expected keys and values")
        return parse_config({**content, "storage": storage.model_dump(mode="json")})
    except (ConfigError, ValueError, RecursionError) as error:
        faults = f"no configuration of this version: {'; '.join(str(error).splitlines())}"
        raise ConfigError(f"{store.uri}/{key}: {faults}") from error


def _stored_at(config: ExperimentConfig, uri: str | None) -> ExperimentConfig:
    if uri is None:
        return config
    return config.model_copy(update={"storage": config.storage.model_copy(update={"uri": uri})})


def _hint(name: str, runs: list[str]) -> str:
    if not runs:
        return "it holds no run at all: another --store?"
    near = difflib.get_close_matches(name, runs, n=5, cutoff=0.3) or runs[:5]
    return f"it has {', '.join(near)}{' and others' if len(runs) > len(near) else ''}"
