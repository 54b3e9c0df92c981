"""The command line, as a newcomer would try it."""

import io
from pathlib import Path

import pytest

from envs.sandbox import GUARANTEES
from envs.sandbox.__main__ import main
from tests.envs.sandbox.machine import MISSING

ACCEPT = [word for name in MISSING for word in ("--accept", name)]


def test_guarantees(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == int(bool(ACCEPT))
    shown = capsys.readouterr().out
    assert [name for name in GUARANTEES if f" {name} " not in shown] == []


def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, stdin: str, *more: str
) -> int:
    path = tmp_path / "program.py"
    path.write_text(program)
    monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    return main([str(path), *ACCEPT, *more])


def test_a_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, tmp_path, "print(int(input()) + 1)", "41") == 0
    said = capsys.readouterr()
    assert said.out == "42\n"
    assert said.err.startswith("ok: 0.")
    assert run(monkeypatch, tmp_path, "while True: pass", "", "--cpu", "0.1") == 1
    assert "timeout: 0.1" in capsys.readouterr().err


def test_a_program_from_stdin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("print('from stdin')"))
    assert main(["-", *ACCEPT]) == 0
    assert capsys.readouterr().out == "from stdin\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nothing/such.py"], "error: [Errno 2] No such file or directory: '/nothing/such.py'"),
        (["x.py", "--cpu", "-1"], "error: sandbox option cpu_s: Input should be greater than"),
        (["x.py", "--accept", "walls"], "error: sandbox option accept_missing: 'walls' is no gua"),
    ],
)
def test_bad_commands(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith(said)
    assert complaint.count("\n") == 1
