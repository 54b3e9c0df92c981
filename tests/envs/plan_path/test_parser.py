"""What counts as an answer, and that nothing else can get through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.plan_path import parser
from envs.plan_path.grid import board
from tests.envs.plan_path.drawings import begin

BOARD = board(4, 4)
MOVES = parser.vocabulary(BOARD, "moves", compact=False)
CELLS = parser.vocabulary(BOARD, "cells", compact=False)
FUZZ = st.text() | st.text(alphabet="UDLRabc123[]*`,:-> \npath", max_size=80)


def moves(text):
    """The answer in letters, or None."""
    actions = parser.parse_actions(text, MOVES)
    return None if actions is None else "".join("UDLR"[action] for action in actions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[U, R, R, D]", "URRD"),
        ("First [U, U], no: [R, D]. That is shortest.", "RD"),
        ("[R, D] is **short**", "RD"),
        ("**U, R**", "UR"),
        ("So: **Answer:** U, R", "UR"),
        ("```\nU R\nD\n```", "URD"),
        ("```python\n['U', \"R\"]\n```", "UR"),
        ("I go up.\nActions: up, right, Down", "URD"),
        ("r -> d → d", "RDD"),
        ("<think>[U, U]</think>[L]", "L"),
        ("<think>[L]</think>\n", None),
        ("[U, north]", None),
        ("[U, R] or rather [U, X]", None),
        ("[UR]", None),
        ("[]", None),
        ("", None),
        ("I cannot see a way.", None),
        ("[U" + ", U" * 2000 + "]", None),
    ],
)
def test_moves_in_free_text(text, expected):
    assert moves(text) == expected


def test_cells_in_free_text():
    assert parser.parse_actions("Via [a2, B2, b3].", CELLS) == tuple(
        BOARD.cells[name] for name in ("a2", "b2", "b3")
    )
    assert parser.parse_actions("[a2, e2]", CELLS) is None


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("path a1 d4", True),
        ("path a1 d4 avoid b1 b2", True),
        ("path a1 d4 avoid", False),
        ("path a1", False),
        ("path a1 d4 b1", False),
        ("path a1 e4", False),
        ("go a1 d4", False),
        ("", False),
    ],
)
def test_programs(text, accepted):
    assert (parser.parse_compact_program(text, BOARD.cells, 19) is not None) == accepted
    fenced = f"The walls are b1 and b2.\n```\n{text}\n```"
    assert (parser.parse_answer_program(fenced, BOARD.cells) is not None) == accepted


def test_the_last_program_wins():
    program = parser.parse_answer_program("path a1 b1\nBetter:\n`Path a1 c1`", BOARD.cells)
    assert program is not None
    assert program.goal == BOARD.cells["c1"]


def test_compact_answers_have_a_word_limit():
    words = parser.vocabulary(BOARD, "moves", compact=True)
    assert parser.parse_compact("U U", words, 2) == (0, 0)
    assert parser.parse_compact("U U U", words, 2) is None
    assert parser.parse_compact("up", words, 2) is None


@settings(max_examples=500, deadline=None)
@given(text=FUZZ)
def test_any_text_is_an_outcome(text):
    for style in ("paper", "compact"):
        for options in ({"tool": "search", "action_language": "cells"}, {"tool": "moves"}):
            env, state = begin("..\n..", (0, 0), (1, 1), prompt_style=style, **options)
            for role in env.roles:
                result = env.step(state, role, text)
                assert env.decode_state(env.encode_state(result.state)) == result.state


@settings(max_examples=500, deadline=None)
@given(text=FUZZ)
def test_what_is_read_is_in_the_vocabulary(text):
    for words in (MOVES, CELLS):
        actions = parser.parse_actions(text, words)
        assert actions is None or (actions and set(actions) <= set(words.values()))


@settings(deadline=None)
@given(actions=st.lists(st.sampled_from("UDLR"), min_size=1, max_size=30), before=st.text())
def test_a_list_in_brackets_is_read_whatever_stands_before_it(actions, before):
    assert moves(f"{before}\n[{', '.join(actions)}]") == "".join(actions)
