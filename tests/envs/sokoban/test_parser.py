"""What counts as an answer, and that nothing else can get through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.sokoban.board import board, letters
from envs.sokoban.parser import parse_actions, read_program
from envs.sokoban.walk import PUSH
from tests.envs.sokoban.drawings import GOLDEN, begin, level

ROOM = level(GOLDEN).room
CELLS = ROOM.board.inner
FUZZ = st.text() | st.text(alphabet="UDLRbcde2345[]*`,:-> \npush", max_size=80)


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("[U, R, D]", "URD"),
        ("D L L", "DLL"),
        ("**up, left**", "UL"),
        ("First [U], better:\n[D, D]", "DD"),
        ("<think>[U]</think>[L]", "L"),
        ("[U, jump]", None),
        ("", None),
        ("[]", None),
    ],
)
def test_moves_in_free_text(text, moves):
    found = parse_actions(text, ROOM, "moves", None)
    assert (found and "".join("UDLR"[action] for action in found)) == moves


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("push c3 c4", True),
        ("push c3 c4 d4 push b2 b3", True),
        ("push c3", False),
        ("push c3 c4 push b2", False),
        ("push push c3 c4", False),
        ("c3 c4", False),
        ("push c3 a1", False),
        ("pull c3 c4", False),
        ("", False),
    ],
)
def test_ways_of_boxes(text, accepted):
    assert (parse_actions(text, ROOM, "pushes", 20) is not None) == accepted
    listed = f"[{', '.join(text.split())}]"
    assert (parse_actions(listed, ROOM, "pushes", None) is not None) == accepted


def test_a_push_is_a_word_of_its_own():
    found = parse_actions("push c3 c4", ROOM, "pushes", 3)
    assert found == (PUSH, CELLS["c3"], CELLS["c4"])
    assert parse_actions("push c3 c4", ROOM, "cells", 3) is None
    assert parse_actions("push c3 c4 c5", ROOM, "pushes", 3) is None


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("push c3 d5", True),
        ("push c3 d5 avoid b2 b3", True),
        ("push c3 d5 push b2 b3 avoid e5", True),
        ("push c3 d5 avoid", False),
        ("push c3", False),
        ("push c3 d5 b2", False),
        ("avoid b2", False),
        ("push c3 a1", False),
        ("push c3 d5 avoid b2 avoid b3", False),
        ("path c3 d5", False),
        ("", False),
    ],
)
def test_programs(text, accepted):
    assert (read_program(text, ROOM, 20) is not None) == accepted
    fenced = f"The walls are b1 and b2.\n```\n{text}\n```"
    assert (read_program(fenced, ROOM, None) is not None) == accepted


def test_the_last_program_wins_and_long_ones_are_malformed():
    program = read_program("push c3 c4\nBetter:\n`Push c3 d5`", ROOM, None)
    assert program.pushes == ((CELLS["c3"], CELLS["d5"]),)
    assert read_program("push c3 d5 avoid b2", ROOM, 4) is None


def test_names_go_on_after_z():
    assert [letters(column) for column in (0, 25, 26, 51, 52)] == ["a", "z", "aa", "az", "ba"]
    assert len(set(board(3, 64).names)) == 3 * 64


@settings(max_examples=80, deadline=None)
@given(text=FUZZ)
def test_any_text_is_an_outcome(text):
    for style in ("paper", "compact"):
        for language in ("moves", "cells", "pushes"):
            tool = "moves" if language == "moves" else "search"
            env, state = begin(GOLDEN, prompt_style=style, action_language=language, tool=tool)
            for role in env.roles:
                result = env.step(state, role, text)
                assert env.decode_state(env.encode_state(result.state)) == result.state
