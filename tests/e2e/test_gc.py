"""A run that lost what its rules do not keep ends with the same bytes, and the rest still works."""

from pathlib import Path

import pytest

from components.storage import open_store
from components.tracking import registry
from pipelines.__main__ import main
from tests.e2e.workplace import Workplace, words_experiment

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
RUN = ("run", "--name", "r", "--runner", "inprocess")


def make_place(folder: Path) -> Workplace:
    folder.mkdir()
    place = Workplace(folder)
    place.write(words_experiment({"first": "a", "second": "b"}, iterations=3))
    return place


def test_after_gc_a_run_ends_with_the_same_bytes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain, cleared = make_place(tmp_path / "plain"), make_place(tmp_path / "cleared")
    for place in (plain, cleared):
        assert place.call(*RUN) == 0
    store = open_store(cleared.config.storage)
    before = store.sizes("policies/") | store.sizes("optimizers/")
    gc = ["gc", "r", "--store", store.uri]
    assert main(gc) == 0 and main([*gc, "--grace-hours", "0"]) == 0
    said = capfd.readouterr().out
    assert "removed 0, 0 B; marked 4 more" in said and "removed 4, " in said
    after = store.sizes("policies/") | store.sizes("optimizers/")
    assert sum(after.values()) < sum(before.values())
    for place in (plain, cleared):
        assert place.call(*RUN, "--iterations", "4") == 0
    assert cleared.weights("r", 4) == plain.weights("r", 4)

    champion = registry.champion(cleared.config)
    assert champion is not None
    for ref in champion.policies.values():
        assert store.download_folder(ref.folder, tmp_path / "cache").is_dir()
    assert cleared.call("report", "--name", "r") == 0
    capfd.readouterr()
    assert cleared.call("promote", "--name", "r", "--runner", "inprocess", "--iteration", "1") == 1
    said = "".join(capfd.readouterr())
    assert "was removed by `gc` at" in said and "@1 of run r" in said
