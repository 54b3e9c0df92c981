"""The command `python -m envs`: list, check, and what cannot be understood."""

from importlib.metadata import EntryPoint

import pytest

from envs import registry
from envs.__main__ import main


def test_list_shows_every_environment_in_one_line(capsys, monkeypatch):
    found = [EntryPoint("liar", "tests.envs.broken_factories:make_liar", registry.GROUP),
             EntryPoint("gone", "no_such.module:make", registry.GROUP)]  # fmt: skip
    monkeypatch.setattr(registry, "entry_points", lambda group: found)
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line}
    assert "tool, planner" in rows["plan_path"]
    assert "serial" in rows["plan_path"]
    assert rows["plan_path"].endswith("tools propose, a planner decides.")
    assert "not with default options" in rows["gone"]
    assert {*registry.BUILT_IN, "liar", "gone"} <= set(rows)


def test_list_of_one_shows_options_roles_and_rewards(capsys):
    assert main(["list", "plan_path"]) == 0
    out = capsys.readouterr().out
    assert "roles: tool, planner (serial)" in out
    assert "  dense: team [-0.5, 1]\n    planner: format [-0.2, 0], legal" in out
    assert "  height: 10\n" in out
    assert "team | planner | tool. team: tools, then planner." in out
    assert "  demonstrations.shortest: 0.12\n      Answers of a role without a tool" in out
    assert main(["list", "tests.envs.broken_factories:make_liar"]) == 0
    assert main(["list", "chess"]) == 2


def test_check_passes_and_fails(capsys):
    assert main(["check", "plan_path", "--set", "height=5", "--set", "width=5"]) == 0
    assert "the contract holds" in capsys.readouterr().out
    assert main(["check", "tests.envs.broken_factories:make_liar"]) == 1
    assert "FAILED with reward dense: observe gives speaker no messages" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["--help"], "python -m envs play sokoban --seed 3"),
        (["play", "--help"], "/prompt shows what the role reads"),
    ],
)
def test_help_teaches(command, sentence, capsys):
    with pytest.raises(SystemExit):
        main(command)
    assert sentence in capsys.readouterr().out
