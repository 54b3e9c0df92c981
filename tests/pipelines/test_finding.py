"""Finding a run by name or by file, and saying what is there if it is not."""

from pathlib import Path

import pytest

from components.config import load_config
from components.errors import ConfigError
from components.settings import StorageConfig
from components.state import register_run
from components.storage import open_store
from pipelines.driver import run_name
from pipelines.finding import find_run, read_config, run_names

EXPERIMENT = "experiments/quickstart/config.yaml"


def make_store(folder: Path, *names: str) -> str:
    uri = f"file://{folder}/store"
    for name in names:
        register_run(open_store(StorageConfig(uri=uri)), name, load_config(EXPERIMENT, []))
    return uri


def test_a_name_is_found_with_its_configuration(tmp_path: Path) -> None:
    uri = make_store(tmp_path, "mine")
    found = find_run("mine", uri)
    assert found.name == "mine"
    assert found.config.storage.uri == uri
    assert found.config.digest() == load_config(EXPERIMENT, []).digest()


def test_a_file_means_its_unnamed_run(tmp_path: Path) -> None:
    name = run_name(load_config(EXPERIMENT, []), None)
    assert find_run(EXPERIMENT, make_store(tmp_path, name)).name == name


def test_a_file_says_how_many_iterations_there_shall_be(tmp_path: Path) -> None:
    config = load_config(EXPERIMENT, ["iterations=1"])
    uri, name = f"file://{tmp_path}/store", run_name(config, None)
    register_run(open_store(StorageConfig(uri=uri)), name, config)
    assert find_run(EXPERIMENT, uri).config.iterations == 8
    assert find_run(name, uri).config.iterations == 1


def test_a_missing_run_names_those_that_are_there(tmp_path: Path) -> None:
    uri = make_store(tmp_path, "quick-1", "other")
    with pytest.raises(ConfigError, match=r"run 'quick-2' is not in .*; it has quick-1"):
        find_run("quick-2", uri)
    assert run_names(open_store(StorageConfig(uri=uri))) == ["other", "quick-1"]


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run at all"):
        find_run("quick", make_store(tmp_path))


def test_a_long_name_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run 'xxx.*; it has quick-1"):
        find_run("x" * 5000, make_store(tmp_path, "quick-1"))


def test_a_store_that_was_moved_is_asked_for(tmp_path: Path) -> None:
    storage = StorageConfig(uri=f"file://{tmp_path}/store")
    with pytest.raises(ConfigError, match="run 'mine' is not in .*; was it moved.* --store"):
        read_config(open_store(storage), "mine", storage)
