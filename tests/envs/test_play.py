"""`python -m envs play`: who answers, what is shown, and how a person leaves."""

import io

import pytest

from envs.__main__ import main
from envs.base import Order, Split, Status
from envs.playing import HELP, Table, play, printable
from tests.doubles.environments import Tracer

SMALL = ["--set", "height=5", "--set", "width=5", "--set", "num_walls=0"]


class Picturesque(Tracer):
    """A tracer with pictures and example answers."""

    def picture(self, state):
        return f"picture of {list(state[1])}"

    def demonstrate(self, state, role, rng):
        return f"{rng.randrange(10)}"


def played(env, *lines, people=("B",), prompts=False, turns=2, capsys=None):
    """What is printed while a person types the lines, and the status."""
    waiting = list(lines)

    def ask(shown):
        if not waiting:
            raise EOFError
        line = waiting.pop(0)
        if line == "^C":
            raise KeyboardInterrupt
        print(shown + printable(line))
        return line

    import random

    table = Table(env, people, prompts, random.Random(0), ask)
    status = play(table, env.tasks(Split.TRAIN, 0, 0, 1)[0], turns)
    return status, capsys.readouterr().out


def test_a_person_plays_the_last_role_and_sees_the_picture(capsys):
    env = Picturesque(endings={"B7": Status.SOLVED}, team={"B7": 1.0})
    status, out = played(env, "3", "7", capsys=capsys)
    assert status is Status.SOLVED
    assert "you play B" in out
    assert "--- turn 0, B\npicture of ['A6']\nB> 3\n--- A: team" in out
    assert "--- A writes\n6\n\n--- turn" in out, "what it earned would tell too much"
    assert "B> 7\n--- A: team +0.000; digit +6.000\n--- team +1.000; digit +7.000\n" in out
    assert out.endswith("picture of ['A6', 'B3', 'A6', 'B7', 'END']\n\nsolved in turn 1\n")


def test_in_parallel_order_everybody_writes_from_the_start_of_the_turn(capsys):
    env = Picturesque(order=Order.PARALLEL)
    _, out = played(env, "1", "2", people=("A", "B"), turns=1, capsys=capsys)
    assert (
        "--- turn 0, A\npicture of []\nA> 1\n\n--- turn 0, B\nB> 2\n--- A writes\n1\n--- t" in out
    )
    assert out.endswith("picture of ['A1', 'B2']\n\nout_of_turns after 1 turns\n")


def test_the_prompt_instead_of_the_picture(capsys):
    _, out = played(Picturesque(), "1", prompts=True, turns=1, capsys=capsys)
    assert "--- turn 0, B reads\nB task 0 log [A6]\nB> 1" in out
    assert "picture" not in out.replace("/picture", "")
    _, out = played(Tracer(), "1", "1", people=("A", "B"), turns=1, capsys=capsys)
    assert "--- turn 0, A reads\nA task 0 log []\nA> 1" in out, "no pictures: the prompt"


def test_commands_answer_and_ask_again(capsys):
    lines = ["/help", "/prompt", "/picture", "/demo", "/dance", "/quit"]
    status, out = played(Picturesque(), *lines, capsys=capsys)
    assert status is Status.RUNNING
    assert f"B> /help\n{HELP}\nB> /prompt\nB task 0 log [A6]\nB> /picture\npicture of ['A6']" in out
    assert "B> /demo\n6\nB> /dance\n--- A: team +0.000; digit +6.000\n--- team +0.000" in out
    assert out.endswith("left in turn 1: the episode was not over\n")
    assert "(no example answers)" in played(Tracer(), "/demo", people="AB", capsys=capsys)[1]


def test_answers_of_several_lines(capsys):
    env = Picturesque(roles=("B",))
    lines = ["```python", "print(1)", "", "```", " . ", "one", "two", "."]
    _, out = played(env, *lines, capsys=capsys)
    assert "'B```python\\nprint(1)\\n\\n```', 'Bone\\ntwo'" in out


@pytest.mark.parametrize("lines", [[], ["1", "^C"], [".", "half"], ["```"]])
def test_whoever_leaves_is_not_scolded(lines, capsys):
    status, out = played(Picturesque(), *lines, capsys=capsys)
    assert status is Status.RUNNING
    assert out.rstrip().endswith("the episode was not over")


def test_a_role_without_examples_needs_a_person(capsys):
    with pytest.raises(ValueError, match="tracer has no example answers for A; .*--role all"):
        played(Tracer(), "1", capsys=capsys)
    with pytest.raises(ValueError, match="tracer has no example answers"):
        played(Tracer(), people=(), capsys=capsys)


def test_an_answer_that_could_not_be_judged_ends_the_episode(capsys):
    env = Picturesque(endings={"B1": Status.ERROR})
    status, out = played(env, "1", capsys=capsys)
    assert status is Status.ERROR
    assert "could not be judged" in out
    assert out.endswith("leave it out\n\nerror in turn 0\n"), "nothing has changed"


def test_what_the_terminal_cannot_show_becomes_question_marks(capsys):
    _, out = played(Picturesque(order=Order.PARALLEL), "\ud800", turns=1, capsys=capsys)
    assert "--- B writes\n?\n" in out


def test_auto_is_repeatable_and_shows_prompts_and_the_end(capsys):
    command = ["play", "plan_path", "--auto", "--seed", "3", "--set", "demonstrations.shortest=1",
               "--set", "demonstrations.straight=0", "--set", "roles=planner"]  # fmt: skip
    assert main(command) == 0
    first = capsys.readouterr().out
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert first.startswith("task plan_path/train/3/0\n\n--- turn 0, planner reads\nYou ")
    assert first.rstrip().endswith("solved in turn 0")


def test_no_terminal_and_no_input_is_auto_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["play", "plan_path", "--seed", "3", *SMALL]) == 0
    silent = capsys.readouterr()
    assert silent.err == "no terminal and no input: every role is demonstrated (--auto)\n"
    assert main(["play", "plan_path", "--seed", "3", "--auto", *SMALL]) == 0
    assert capsys.readouterr().out == silent.out
    assert main(["play", "plan_path", "--role", "planner", *SMALL]) == 0
    assert capsys.readouterr().out.endswith("left in turn 0: the episode was not over\n")


def test_piped_lines_are_answers_of_the_roles_that_are_named(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("[U]\n[D]\n"))
    assert main(["play", "plan_path", "--role", "all", "--prompt", *SMALL]) == 0
    out = capsys.readouterr().out
    assert "tool> [U]\n---" in out
    assert "planner> [D]\n---" in out
    assert "left in turn 1" in out
    assert main(["play", "plan_path", "--role", "coder", *SMALL]) == 2
    assert "--role coder: expected one of ['tool', 'planner', 'all']" in capsys.readouterr().err


def test_illegal_answers_are_outcomes_with_their_rewards(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("the way is north\n"))
    assert main(["play", "plan_path", "--set", "roles=planner", "--turns", "1", *SMALL]) == 0
    assert "--- team +0.000; format -0.200, legal +0.000" in capsys.readouterr().out
