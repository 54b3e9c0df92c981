"""The verb `gc` on a store in a folder: what it looks at, what it says, what it refuses."""

import json
from pathlib import Path

import pytest
import yaml

from components.settings import StorageConfig
from components.storage import open_store
from pipelines.__main__ import main
from pipelines.driver import run_name
from tests.components.retention.made_up import Made
from tests.doubles.experiment import content, make_config


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Two runs of 13 iterations, one of them the unnamed one of `config.yaml`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    values = content(
        policies={"tool": {"base": "file://tool"}}, roles={"tool": "tool"},
        storage={"keep_policies_every": 6},
    )  # fmt: skip
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(values))
    config = make_config(**values)
    made = Made(open_store(StorageConfig()), tmp_path / "made", config)
    for name in (run_name(config, None), "other"):
        made.run(name, 12)
    return made


def policies(made: Made, run: str) -> set[int]:
    """The iterations whose policies are there."""
    texts = {text for text in made.there() if text.startswith(f"{run}/") and "adam" not in text}
    return {int(text.rpartition("/")[2]) for text in texts}


def test_a_file_names_its_run_and_its_rules(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    (name,) = {run for run, _ in made.states} - {"other"}
    everything = made.there()
    assert main(["gc", "config.yaml", "--dry-run", "--grace-hours", "0"]) == 0
    assert made.there() == everything
    said = capsys.readouterr().out
    assert "nothing was changed: --dry-run" in said and "kept: every 6 iterations" in said
    assert main(["gc", "config.yaml", "--grace-hours", "0"]) == 0
    assert policies(made, name) == {6, 11, 12} and policies(made, "other") == set(range(1, 13))
    assert f"policy tool@1 of run {name}" in capsys.readouterr().out


def test_a_name_takes_the_rules_that_its_run_began_with(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gc", "other", "--grace-hours", "0"]) == 0
    assert policies(made, "other") == {6, 11, 12}
    assert "kept: all optimiser states" in capsys.readouterr().out


def test_the_whole_store_with_rules_of_the_command_line(made: Made) -> None:
    made.put("orphan")
    rules = ["--keep-policies-every", "4", "--keep-optimizers", "1"]
    assert main(["gc", "--all", "--grace-hours", "0", *rules]) == 0
    assert policies(made, "other") == {4, 8, 11, 12}
    assert {text for text in made.there() if text.endswith("adam")} == {
        f"{run}/12/adam" for run, _ in made.states
    }
    assert "orphan" not in made.there()


def test_the_first_call_only_marks(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    everything = made.there()
    assert main(["gc", "--all"]) == 0
    assert made.there() == everything
    assert "wait: call gc again when they have been marked 24 h" in capsys.readouterr().out


def test_a_run_with_another_versions_configuration_is_read(made: Made) -> None:
    stored = json.loads(made.store.read("runs/other/config.json"))
    made.store.write("runs/other/config.json", json.dumps(stored | {"newer": 1}).encode())
    assert main(["gc", "--all", "--grace-hours", "0"]) == 0
    assert policies(made, "other") == {6, 11, 12}


def test_a_damaged_configuration_stops_everything(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its registry is not known, and so is not what its aliases keep."""
    everything = made.there()
    made.store.write("runs/other/config.json", b'{"name": ')
    assert main(["gc", "--all", "--grace-hours", "0"]) == 2
    assert "runs/other/config.json: cannot be read: no JSON object" in capsys.readouterr().err
    assert made.there() == everything


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected RUN, or --all"),
        (["nothing"], "run 'nothing' is not in"),
        (["--all", "--store", "ftp://x"], "expected file://folder or s3://bucket/prefix"),
    ],
)
def test_wrong_arguments(
    made: Made, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gc", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--grace-hours", "-1"], ["--keep-optimizers", "0"]])
def test_wrong_numbers(made: Made, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["gc", "--all", *option])
    assert ended.value.code == 2 and "or more" in capsys.readouterr().err


def test_a_store_without_runs_is_no_clean_store(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gc", "--all", "--store", f"file://{tmp_path}/other"]) == 2
    assert "other holds no run at all: another --store?" in capsys.readouterr().err
