"""Tokenizers of words: known words keep their ids, unknown ones no longer end a server."""

from pathlib import Path

from components.models.tolerance import make_tolerant, tolerant_folder
from components.settings import InitConfig
from components.update.initialise.scratch import write_scratch_model


def ids(folder: Path, text: str) -> list[int]:
    from tokenizers import Tokenizer

    found: list[int] = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
    return found


def test_a_copy_is_tolerant_and_the_stored_folder_stays(tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    write_scratch_model(stored, InitConfig(hidden_size=32, num_layers=1), ("goal", "a1"), 0)
    before = {path.name: path.read_bytes() for path in stored.iterdir()}
    copy = tolerant_folder(stored, tmp_path / "cache")
    assert copy != stored and tolerant_folder(stored, tmp_path / "cache") == copy
    assert ids(copy, "goal a1") == ids(stored, "goal a1")
    assert ids(copy, "goal x") == [*ids(stored, "goal"), 0]
    assert {path.name: path.read_bytes() for path in stored.iterdir()} == before
    assert tolerant_folder(copy, tmp_path / "cache") == copy


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    make_tolerant(tmp_path)
    assert tolerant_folder(tmp_path, tmp_path / "cache") == tmp_path
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {"a": 0}}}')
    assert tolerant_folder(tmp_path, tmp_path / "cache") == tmp_path
