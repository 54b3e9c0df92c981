"""A run really trains from an imported model: with weights of its own, and an adapter on it."""

from pathlib import Path

import pytest

from components.models.importing import import_model
from components.models.records import read_origin
from components.settings import InitConfig, StorageConfig
from components.storage import open_store
from components.update.initialise.main import lexicon_of
from components.update.initialise.scratch import write_scratch_model
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


def test_a_run_trains_from_an_imported_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place, roles = Workplace(tmp_path), {"first": "own", "second": "adapted"}
    place.write(words_experiment(roles=roles))
    init = InitConfig(hidden_size=32, num_layers=1, intermediate_size=64)
    write_scratch_model(tmp_path / "tiny", init, lexicon_of(place.config), 0)
    storage = StorageConfig(uri=f"file://{tmp_path}/store", cache=f"{tmp_path}/cache")
    record = import_model(str(tmp_path / "tiny"), storage, say=lambda text: None)
    own = {"base": record.base}
    adapted = {**own, "lora": {"r": 2, "alpha": 4}}
    place.write(words_experiment(roles=roles, policies={"own": own, "adapted": adapted}))
    assert place.call("run", "--name", "r", "--runner", "inprocess") == 0
    before, after = place.state("r", 0).policies, place.state("r", 1).policies
    assert before["own"].sha256 == record.sha256 != after["own"].sha256
    base = after["adapted"].base
    assert base is not None and base.sha256 == record.sha256
    assert after["adapted"].sha256 != before["adapted"].sha256
    trained = open_store(storage).download_folder(after["own"].folder, tmp_path / "cache")
    assert read_origin(trained)["source"] == "folder tiny"  # the licence goes on with the weights
