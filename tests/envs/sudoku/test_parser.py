"""What counts as an answer, and that nothing else can get through."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.sudoku import parser
from envs.sudoku.board import board
from tests.envs.sudoku.puzzles import GOLDEN_SOLUTION, begin, words

PLAN = board(4)
ROWS = ["2431", "1342", "4213", "3124"]
FUZZ = st.text() | st.text(alphabet="rc1234=:[]*`,.0_| \nsolve", max_size=80)


def fills(text):
    """The names of what was read, or None."""
    found = parser.parse_fills(text, PLAN)
    return None if found is None else " ".join(PLAN.names[fill] for fill in found)


def grid(text):
    """What was read as `r1c1=2 ...`, or None."""
    found = parser.parse_grid(text, PLAN)
    return None if found is None else [PLAN.names[fill] for fill in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[r1c2=3]", "r1c2=3"),
        ("First [r1c1=1], no: [r1c2=3, R2C4 = 1].", "r1c2=3 r2c4=1"),
        ("Answer: r1c2: 3; r1c3 = 1", "r1c2=3 r1c3=1"),
        ("So **r1c2=3, r1c3=1** is it", "r1c2=3 r1c3=1"),
        ("```\nr1c2=3\nr1c3=1\n```", "r1c2=3 r1c3=1"),
        ("I think so.\nr1c2=3\n\nr1c3=1\n", "r1c2=3 r1c3=1"),
        ("<think>[r1c1=1]</think>['r1c2=3']", "r1c2=3"),
        ("[r1c2=3, r1c2=3]", "r1c2=3"),
        ("[r1c2=3, r1c2=4]", None),
        ("<think>[r1c1=1]</think>", None),
        ("[r1c2=3, r1c2]", None),
        ("[r1c2=3] or rather [r1c2=5]", None),
        ("[r1c2=3] or rather [r5c1=1]", None),
        ("[r1c2=13]", None),
        ("[]", None),
        ("", None),
        ("r1c2=3 is my answer", None),
    ],
)
def test_fills_in_free_text(text, expected):
    assert fills(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(ROWS),
        "Here it is:\n" + "\n".join(ROWS) + "\nThat was easy.",
        "```\n" + "\n".join(" ".join(row) for row in ROWS) + "\n```",
        "2 4 | 3 1\n1 3 | 4 2\n----+----\n4 2 | 1 3\n3 1 | 2 4",
        "[[2, 4, 3, 1], [1, 3, 4, 2], [4, 2, 1, 3], [3, 1, 2, 4]]",
        "[[2,4,3,1],\n [1,3,4,2],\n [4,2,1,3],\n [3,1,2,4]]",
        "The puzzle\n2...\n1342\n..13\n....\nis solved by\n" + "\n\n".join(ROWS),
        "2...\n1342\n..13\n....\n" + "\n".join(ROWS),
        "| 2 | 4 | 3 | 1 |\n|---|---|---|---|\n" + "\n".join(ROWS[1:]),
        GOLDEN_SOLUTION,
    ],
)
def test_grids_in_free_text(text):
    assert grid(text) == words(GOLDEN_SOLUTION)


def test_blanks_of_a_grid_are_left_out():
    assert grid("2..0\n1_42\n....\n....") == ["r1c1=2", "r2c1=1", "r2c3=4", "r2c4=2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2431\n1342\n4213",
        "2431\n1342\n4213\n3124\n2413",
        "2435\n1342\n4213\n3124",
        "row 2431\nrow 1342\nrow 4213\nrow 3124",
        "....\n....\n....\n....",
        "24311342421331242",
    ],
)
def test_what_is_no_grid(text):
    assert grid(text) is None


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("solve r1c1=2", True),
        ("solve r1c1=2 r2c1=1", True),
        ("solve r1c1=2 r1c1=1", False),
        ("solve", False),
        ("solve r1c1", False),
        ("fill r1c1=2", False),
        ("", False),
    ],
)
def test_programs(text, accepted):
    assert (parser.parse_compact_program(text, PLAN, 9) is not None) == accepted
    fenced = f"The clues are known.\n```\n{text}\n```"
    assert (parser.parse_answer_program(fenced, PLAN) is not None) == accepted


def test_the_last_program_wins():
    text = "solve r1c1=1\nBetter:\n`Solve r1c1 = 2, r1c2=3`"
    assert parser.parse_answer_program(text, PLAN) == [1, 6]


def test_compact_answers_have_a_word_limit():
    assert parser.parse_compact("r1c1=2 r1c2=3", PLAN, 2) == [1, 6]
    assert parser.parse_compact("r1c1=2 r1c2=3", PLAN, 1) is None
    assert parser.parse_compact("R1C1=2", PLAN, 2) is None


@settings(max_examples=300, deadline=None)
@given(text=FUZZ)
def test_what_is_read_names_each_cell_once(text):
    for found in (parser.parse_fills(text, PLAN), parser.parse_grid(text, PLAN)):
        assert found is None or found
        assert len({fill // 4 for fill in found or ()}) == len(found or ())
        assert all(0 <= fill < 64 for fill in found or ())


@settings(max_examples=200, deadline=None)
@given(text=FUZZ)
def test_any_text_is_an_outcome(text):
    for options in ({}, {"answer": "grid"}, {"tool": "search", "prompt_style": "compact"}):
        env, state = begin(**options)
        for role in env.roles:
            result = env.step(state, role, text)
            assert env.decode_state(env.encode_state(result.state)) == result.state


@pytest.mark.parametrize("piece", [" ", "=", "[", "**", "a ", "r1c1=1\n", "```a\n", "1\n", "a:"])
def test_long_texts_are_read_in_no_time(piece):
    text, began = piece * (20_000 // len(piece)), time.process_time()
    fills(text), grid(text), parser.parse_answer_program(text, PLAN)
    assert time.process_time() - began < 0.5
