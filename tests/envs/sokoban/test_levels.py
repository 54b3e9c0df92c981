"""Level text: what is read, what is refused by name, and files as splits."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.base import Split
from envs.checks import check_env
from envs.sokoban.levels import MAX_SIDE, parse_rows, read_text, write_text
from envs.sokoban.solver import Undecided, solve
from envs.sokoban.state import rows_of
from envs.sokoban.walk import Word, walk
from tests.envs.sokoban.drawings import GOLDEN, LINE, TWO, level, make_env

BOXOBAN = f"; 0\n{GOLDEN}\n\n; 1\n{TWO}\n\n"
COLLECTION = """\
A Collection
by Somebody # who writes signs

'First'
   ####
####--##
#@ $_. #
#######
Author: me

Second, with a title
; and a comment
#####\t
#@$.#
#####
"""
CAVES = Path("/usr/share/games/cavepacker/maps")


def test_a_file_of_the_boxoban_kind():
    found = read_text(BOXOBAN, "000.txt")
    assert [item.level for item in found] == [level(GOLDEN), level(TWO)]
    assert [item.title for item in found] == ["0", "1"]
    assert found[1].where == "000.txt, level 2 (line 10)"


def test_titles_comments_other_floor_marks_and_ragged_rows():
    first, second = read_text(COLLECTION.replace("\n", "\r\n"), "collection.sok")
    assert rows_of(first.level) == ["   #### ", "####  ##", "#@ $ . #", "####### "]
    assert first.title == "First"
    assert (rows_of(second.level), second.title) == (["#####", "#@$.#", "#####"], "and a comment")


def test_an_indent_is_no_part_of_a_level():
    assert parse_rows([f"  {row}" for row in GOLDEN.split("\n")]) == level(GOLDEN)


def test_what_is_written_is_read_again():
    levels = [(level(GOLDEN), "golden; one"), (level(LINE), ""), (level(TWO), "a\nb")]
    found = read_text(write_text(levels), "written")
    assert [(item.level, item.title) for item in found] == [
        (level(GOLDEN), "golden; one"), (level(LINE), ""), (level(TWO), "a b")]  # fmt: skip
    assert write_text([(level(GOLDEN), "0")]) == f"; 0\n{GOLDEN}\n"


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_generated_level_is_written_and_read(seed):
    options = {"height": 7, "width": 9, "num_boxes": 2}
    (task,) = make_env(**options).tasks(Split.TRAIN, seed, 0, 1)
    one = parse_rows(task.payload["rows"])
    assert [item.level for item in read_text(write_text([(one, "x")]), "w")] == [one]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (BOXOBAN.replace("#   . #", "#  %. #"),
         r"f, level 2: row 5 \(line 14\), column 4 is '%', expected one of"),
        (GOLDEN.replace("# $  #", "x $  #"), r"f, level 1: row 3 \(line 3\), column 1 is 'x'"),
        (GOLDEN.replace("@", " "), r"f, level 1 \(line 1\): 0 players"),
        (GOLDEN.replace("# @  #", "# @@ #"),
         r"f, level 1: row 2 \(line 2\), column 4 is the second of 2 players"),
        (GOLDEN.replace("$", " "), r"0 boxes and 1 goals, expected equally many, 1 or more"),
        (GOLDEN.replace(".", "$"), r"2 boxes and 0 goals"),
        (GOLDEN.replace("# $  #", "# *  #").replace(".", " "), r"all boxes stand on goals already"),
        (GOLDEN.replace("# @  #", "# @  "),
         r"f, level 1: row 2 \(line 2\), column 6: here the player can leave"),
        ("".join(f"  {row}\n" for row in GOLDEN.replace("# @  #", "# @@ #").split("\n")),
         r"row 2 \(line 2\), column 6 is the second of 2 players"),
        ("##########\n#@$. #$ .#\n##########", r"row 2 \(line 2\), column 9 has a box or a goal"),
        ("#" * (MAX_SIDE + 1), rf"row 1 \(line 1\) has {MAX_SIDE + 1} columns, expected"),
        ("##\n" * (MAX_SIDE + 1), rf"{MAX_SIDE + 1} rows, expected {MAX_SIDE} or fewer"),
        ("", r"f: no level in it"),
        ("just words\n\x00\x01", r"f: no level in it"),
    ],
)  # fmt: skip
def test_malformed_levels_are_refused_by_name(text, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read_text(text, "f")
    assert "\n" not in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(text=st.text("#@$.*+ -_;x\n", max_size=200) | st.text(max_size=50))
def test_any_text_is_read_or_refused(text):
    try:
        found = read_text(text, "f")
    except ValueError as error:
        assert "f" in str(error)
    else:
        assert found and all(item.level.boxes for item in found)


def write(folder, **files):
    """Level files by name."""
    for name, pictures in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        Path(f"{path}.txt").write_text("\n\n".join(pictures) + "\n")
    return str(folder)


def drawn(count):
    """That many different levels, whatever their split."""
    env, part = make_env(), -(-count // 3)
    tasks = [task for split in Split for task in env.tasks(split, 0, 0, part)]
    return ["\n".join(task.payload["rows"]) for task in tasks][:count]


def test_the_digest_decides_the_split(tmp_path):
    levels = drawn(260)
    folder = write(tmp_path, a=levels[:200], b=levels[200:])
    env = make_env(levels=folder)
    assert check_env(env, num_tasks=4) == []
    counts = {split: len(env._set.levels[split]) for split in Split}
    assert sum(counts.values()) == 260 and min(counts.values()) > 80
    alone = make_env(levels=f"{folder}/a.txt")
    assert sum(map(len, alone._set.levels.values())) == 200 and check_env(alone, num_tasks=2) == []


def test_a_file_or_folder_for_each_split(tmp_path):
    levels = drawn(9)
    folder = write(tmp_path, train__a=levels[:3], train__b=levels[3:6], val=levels[6:7],
                   test=levels[7:])  # fmt: skip
    names = {"train": "train", "validation": "val.txt", "test": "test.txt"}
    env = make_env(levels=folder, level_splits=names)
    found = {
        split: {"\n".join(task.payload["rows"]) for task in env.tasks(split, 0, 0, count)}
        for split, count in ((Split.TRAIN, 6), (Split.VALIDATION, 1), (Split.TEST, 2))
    }
    assert found == {Split.TRAIN: set(levels[:6]), Split.VALIDATION: set(levels[6:7]),
                     Split.TEST: set(levels[7:])}  # fmt: skip


def test_training_goes_round_and_the_other_splits_end(tmp_path):
    levels = drawn(6)
    folder = write(tmp_path, train=levels[:2], val=levels[2:4], test=levels[4:])
    names = {"train": "train.txt", "validation": "val.txt", "test": "test.txt"}
    env = make_env(levels=folder, level_splits=names)
    train = [json.dumps(task.payload) for task in env.tasks(Split.TRAIN, 0, 0, 8)]
    assert len(set(train)) == 2 and all(len(set(train[n : n + 2])) == 2 for n in (0, 2, 4, 6))
    assert len(env.tasks(Split.TEST, 0, 0, 100)) == 2
    assert env.tasks(Split.TEST, 0, 1, 5) == env.tasks(Split.TEST, 0, 0, 2)[1:]
    with pytest.raises(ValueError, match="sokoban task 2 of test: the level files hold 2 levels"):
        env.tasks(Split.TEST, 0, 2, 1)


def test_fault_7_a_level_in_two_splits_is_refused_with_both_places(tmp_path):
    levels = drawn(4)
    folder = write(tmp_path, train=levels[:3], val=levels[1:2], test=levels[3:])
    names = {"train": "train.txt", "validation": "val.txt", "test": "test.txt"}
    with pytest.raises(ValueError, match=re.escape(
        "sokoban levels: val.txt, level 1 (line 1), of validation, is the same level as train.txt, "
        "level 2 (line 8), of train")):  # fmt: skip
        make_env(levels=folder, level_splits=names)


@pytest.mark.parametrize(
    ("picture", "sentence"),
    [
        (
            "######\n#$  .#\n# @  #\n######",
            "a.txt, level 2 .line 8.: not solvable: a box can never",
        ),
        (
            "#########\n#@  . $ #\n#########",
            "a.txt, level 2 .line 8.: not solvable: the solver has",
        ),
    ],
)
def test_levels_that_cannot_be_solved_are_refused(tmp_path, picture, sentence):
    folder = write(tmp_path, a=[GOLDEN, picture, TWO])
    with pytest.raises(ValueError, match=sentence):
        make_env(levels=folder)


def test_levels_may_be_checked_by_their_rules_alone(tmp_path):
    folder = write(tmp_path, a=["#########\n#@  . $ #\n#########"])
    env = make_env(levels=folder, verify="rules")
    assert sum(map(len, env._set.levels.values())) == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"levels": "/nowhere"}, "/nowhere cannot be read .No such file"),
        ({"levels": "/nowhere", "num_boxes": 2}, "expected no num_boxes"),
        ({"level_splits": {"train": "a"}}, "level_splits needs levels"),
        ({"levels": "x", "level_splits": {"train": "a"}}, "lacks test, validation"),
        ({"levels": "x", "level_splits": {"dev": "a"}}, "option level_splits.dev"),
        ({"height": 5, "width": 5, "num_walls": 7}, "num_walls 7 leaves 2 free cells, expected 3"),
        ({"min_pushes": 9, "max_pushes": 8}, "min_pushes 9 is more than max_pushes 8"),
        ({"tool": "program", "prompt_style": "compact"}, "tool program needs prompt_style paper"),
        ({"demonstrations": {"shortest": 0.9, "start": 0.9}}, r"shortest \+ start is 1.8"),
        ({"boxes": 2}, "sokoban option boxes: unknown, got 2; the options are"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_env(**options)


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(ValueError, match="no level file in .*; expected names that end in .txt"):
        make_env(levels=str(tmp_path))
    os.truncate(os.open(tmp_path / "big.txt", os.O_CREAT | os.O_WRONLY), 65 << 20)
    with pytest.raises(ValueError, match="big.txt has more than 67108864 bytes; expected fewer"):
        make_env(levels=str(tmp_path))
    (tmp_path / "big.txt").write_bytes(b"\xff\xfe\x00#")
    with pytest.raises(ValueError, match="big.txt, line 1 is not UTF-8"):
        make_env(levels=str(tmp_path))


def replay(text):
    """Moves of a solution with `3r` and `2(ur)` for repetitions."""
    pattern = re.compile(r"(\d+)(?:\(([a-z]*)\)|([a-z]))", re.IGNORECASE)
    while found := pattern.search(text):
        part = (found[2] or found[3]) * int(found[1])
        text = text[: found.start()] + part + text[found.end() :]
    return ["udlr".index(move) for move in text.lower() if move in "udlr"]


@pytest.mark.skipif(not CAVES.is_dir(), reason="cavepacker-data is not installed")
def test_the_levels_of_cavepacker_data_load_and_their_solutions_replay():
    decided = 0
    for file in sorted(CAVES.glob("microban01_00[0-3]*.sok")):
        (found,) = read_text(file.read_text(), file.name)
        moves = replay(file.with_suffix(".sol").read_text())
        assert walk(found.level, moves, "moves").word is Word.OK
        try:
            fewest = solve(found.level, "moves", 1_000)
        except Undecided:
            continue
        assert len(fewest.cells) <= len(moves)
        decided += 1
    assert decided > 25
