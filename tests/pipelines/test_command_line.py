"""The command line: exit codes, one line for a fault, light start."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipelines.__main__ import main

QUICKSTART = "experiments/quickstart/config.yaml"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rollout.candidates=4", "rollout.candidates: unknown key"),
        ("rollout.num_turns=0", "rollout.num_turns: Input should be greater than or equal to 1"),
        ("rollout", "expected key.subkey=value"),
    ],
)
def test_a_wrong_value_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], override: str, message: str
) -> None:
    assert main(["config", QUICKSTART, "--set", override]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "nowhere.yaml"]) == 2
    assert "nowhere.yaml: cannot be read" in capsys.readouterr().err


def test_config_prints_what_it_can_read_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["config", QUICKSTART, "--set", "rollout.num_candidates=3"]) == 0
    text = capsys.readouterr().out
    assert yaml.safe_load(text)["rollout"]["num_candidates"] == 3
    (tmp_path / "c.yaml").write_text(text)
    assert main(["config", str(tmp_path / "c.yaml")]) == 0
    assert capsys.readouterr().out == text


def test_report_of_an_unknown_run_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    where = f"storage.uri=file://{tmp_path}/store"
    assert main(["report", QUICKSTART, "--name", "none", "--set", where]) == 2
    assert capsys.readouterr().err == (
        f"error: run 'none' is not in file://{tmp_path}/store; it holds no run at all: another "
        "--store?\n"
    )


def test_promote_of_an_unknown_run_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    where = f"storage.uri=file://{tmp_path}/store"
    assert main(["promote", QUICKSTART, "--name", "none", "--set", where]) == 2
    assert "has no committed iteration in" in (text := capsys.readouterr().err)
    assert "train it with `python -m pipelines run`" in text


@pytest.mark.parametrize("name", ["pipeline.txt", "file/pipeline.yaml", "folder.yaml"])
def test_a_place_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.yaml").mkdir()
    assert main(["compile", QUICKSTART, "-o", str(tmp_path / name)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: output '{tmp_path / name}'")


def test_negative_retries_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["run", QUICKSTART, "--retries", "-1"])
    assert end.value.code == 2
    assert "'-1': expected a whole number, 0 or more" in capsys.readouterr().err


def test_an_interrupted_command_is_shown_as_the_shell_takes_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(options: object, ask: bool = True) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipelines.arguments.load", interrupt)
    assert main(["config", QUICKSTART, "--set", "roles={tool: tool}"]) == 130
    command = f"python -m pipelines config {QUICKSTART} --set 'roles={{tool: tool}}'"
    assert capsys.readouterr().err.endswith(f"Go on with: {command}\n")


@pytest.mark.parametrize("verb", ["", "compile", "submit", "run", "promote", "config", "report"])
def test_help_teaches_without_loading_kfp(verb: str) -> None:
    code = (
        "import sys\nfrom pipelines.__main__ import main\n"
        f"try:\n    main({[verb, '--help'] if verb else ['--help']!r})\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'kfp', 'kfp_server_api', 'torch', 'mlflow', 'boto3', 'pyarrow'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage: python -m pipelines" in done.stdout


def test_a_reader_that_has_enough_is_no_fault() -> None:
    words = f"{sys.executable} -m pipelines config experiments/quickstart/config.yaml | head -n 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("name: quickstart")
    assert done.stderr == ""


def test_a_namespace_that_nothing_carries_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "p.yaml"
    command = ["compile", str(QUICKSTART), "-o", str(written), "--namespace", "teams"]
    assert main(command) == 2 and not written.exists()
    assert "Add --kubernetes-manifest" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["r:x", "r:", ":3", "r:-1"])
def test_what_a_team_is_called_is_said(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", text, "r:1"]) == 2
    assert "expected RUN:4, RUN for its latest, TEAM@alias or TEAM@v2" in capsys.readouterr().err
