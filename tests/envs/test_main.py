"""The command `python -m envs`."""

import io

import pytest

from envs.__main__ import main


def test_list(capsys):
    assert main(["list"]) == 0
    assert "plan_path" in capsys.readouterr().out.split()


def test_check_passes_and_fails(capsys):
    assert main(["check", "plan_path", "--set", "height=5", "--set", "width=5"]) == 0
    assert "the contract holds" in capsys.readouterr().out
    assert main(["check", "tests.envs.broken_factories:make_liar"]) == 1
    assert "FAILED observe gives speaker no messages" in capsys.readouterr().out


def test_play_is_repeatable_and_shows_the_end(capsys):
    command = ["play", "plan_path", "--seed", "3", "--set", "demonstrations.shortest=1",
               "--set", "demonstrations.straight=0", "--set", "roles=planner"]  # fmt: skip
    assert main(command) == 0
    first = capsys.readouterr().out
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert "task plan_path/train/3/0" in first
    assert first.rstrip().endswith("solved in turn 0")


def test_errors_are_one_line_and_status_2(capsys):
    assert main(["check", "plan_path", "--set", "hight=3"]) == 2
    assert main(["check", "plan_path", "--set", "height"]) == 2
    assert main(["check", "plan_path", "--set", "height={"]) == 2
    assert main(["check", "plan_path", "--set", "height=3", "--set", "height.x=2"]) == 2
    assert main(["check", "json:JSONDecoder"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert all(line.startswith("error: ") for line in lines)


@pytest.mark.parametrize("option", [["--tasks", "0"], ["--turns", "-1"], ["--turns", "many"]])
def test_a_check_of_nothing_is_refused(option, capsys):
    with pytest.raises(SystemExit) as end:
        main(["check", "plan_path", *option])
    assert end.value.code == 2
    assert f"argument {option[0]}: " in capsys.readouterr().err


def test_answers_that_end_are_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["play", "plan_path", "--answer"]) == 2
    assert capsys.readouterr().err == "error: no more answers; expected a line for tool\n"


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m envs play plan_path --seed 3" in capsys.readouterr().out
