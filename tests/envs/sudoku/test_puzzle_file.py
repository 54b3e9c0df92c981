"""Files of puzzles: what is read, and one clear error for everything else."""

import os

import pytest

from envs.base import Split
from envs.sudoku import puzzle_file
from tests.envs.sudoku.puzzles import (
    AMBIGUOUS,
    CHANGED,
    GOLDEN,
    GOLDEN_SOLUTION,
    NINE,
    UNSOLVABLE,
    make_env,
)

OTHER = GOLDEN[:9] + "2" + GOLDEN[10:]


@pytest.fixture
def write(tmp_path):
    """Write a file of lines; its path."""

    def _write(*lines, name="puzzles.txt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)

    return _write


def all_puzzles(env):
    """Of every split, in the order of seed 0."""
    found = {}
    for split in Split:
        with pytest.raises(ValueError, match="holds [0-9]+ puzzles of this split") as caught:
            env.tasks(split, 0, 1000, 1)
        count = int(str(caught.value).split("holds ")[1].split()[0])
        tasks = env.tasks(split, 0, 0, count)
        found[split] = ["".join(task.payload["rows"]) for task in tasks]
    return found


def test_usual_lines_are_read(write):
    lines = ("puzzle,solution", "# easy ones", "", f"{GOLDEN.replace('.', '0')},{GOLDEN_SOLUTION}",
             f"{OTHER} {GOLDEN_SOLUTION}")  # fmt: skip
    found = all_puzzles(make_env(puzzles=write(*lines)))
    assert sorted(sum(found.values(), [])) == sorted([GOLDEN, OTHER])
    nine = make_env(size=9, puzzles=write(NINE))
    assert sum(all_puzzles(nine).values(), []) == [NINE]


def test_one_file_is_divided_by_content(write):
    lines = [task.payload["rows"] for task in make_env().tasks(Split.TRAIN, 0, 0, 30)]
    lines += [task.payload["rows"] for task in make_env().tasks(Split.TEST, 0, 0, 10)]
    path = write(*("".join(rows) for rows in lines))
    found = all_puzzles(make_env(puzzles=path))
    assert [len(found[split]) for split in Split] == [30, 0, 10]


def test_a_file_per_split_and_an_order_per_seed(write):
    lines = ["".join(task.payload["rows"]) for task in make_env().tasks(Split.TRAIN, 0, 0, 30)]
    files = {"train": write(*lines[:20]), "test": write(*lines[20:], name="test.txt")}
    env = make_env(puzzles=files, distinct="identity")
    found = all_puzzles(env)
    assert set(found[Split.TRAIN]) == set(lines[:20]) and len(found[Split.TRAIN]) == 20
    assert set(found[Split.TEST]) == set(lines[20:])
    other = ["".join(task.payload["rows"]) for task in env.tasks(Split.TRAIN, 1, 0, 20)]
    assert other != found[Split.TRAIN] and set(other) == set(lines[:20])


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([GOLDEN, GOLDEN[:-1]], "row 2, puzzle: has 15 characters, expected 16, which is size 4"),
        ([NINE], "row 1, puzzle: has 81 characters, expected 16"),
        (["5" + GOLDEN[1:]], "row 1, puzzle: has '5'; expected 1 to 4"),
        (["# comment", "", UNSOLVABLE], "row 3, puzzle: has no solution, expected exactly one"),
        ([AMBIGUOUS], "row 1, puzzle: has 2 or more solutions, expected exactly one"),
        ([GOLDEN, OTHER, GOLDEN], "row 3, puzzle: is row 1 again"),
        ([f"{GOLDEN},{CHANGED}"], f"row 1, solution: is {CHANGED}, expected .* {GOLDEN_SOLUTION}"),
        ([f"{GOLDEN},12"], "row 1, solution: has 2 characters"),
        ([f"{GOLDEN},{GOLDEN_SOLUTION},easy"], "row 1, line: goes on with 'easy'"),
        ([GOLDEN_SOLUTION], "row 1, puzzle: has no blank"),
        ([GOLDEN + "1" * 10_000], "row 1, puzzle: has 10016 characters"),
        (["# nothing"], "has no puzzle, expected one a line"),
        ([GOLDEN + "\u00e9"], "row 1, puzzle: has 17 characters"),
        ([GOLDEN[1:] + "\u00b2"], "row 1, puzzle: has '\u00b2'; expected 1 to 4"),
    ],
)
def test_bad_lines_name_file_row_and_field(write, lines, sentence):
    path = write(*lines)
    with pytest.raises(ValueError, match=sentence) as caught:
        make_env(puzzles=path)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("distinct", ["relabelled", "identity"])
def test_fault_7_a_puzzle_of_two_splits_is_refused(write, distinct):
    twin = GOLDEN.translate(str.maketrans("1234", "2341")) if distinct == "relabelled" else GOLDEN
    files = {"train": write(OTHER, GOLDEN), "test": write(twin, name="test.txt")}
    with pytest.raises(ValueError, match="test.txt, row 1, puzzle: is row 2 of .*puzzles.txt"):
        make_env(puzzles=files, distinct=distinct)


def test_oversized_and_missing_files_are_refused(write, monkeypatch):
    path = write(GOLDEN, OTHER)
    monkeypatch.setattr(puzzle_file, "MAX_BYTES", 10)
    with pytest.raises(ValueError, match="puzzles.txt has more than 10 bytes; expected fewer"):
        make_env(puzzles=path)
    monkeypatch.undo()
    monkeypatch.setattr(puzzle_file, "MAX_LINES", 1)
    with pytest.raises(ValueError, match="puzzles.txt: has 2 lines, expected 1 at most"):
        make_env(puzzles=path)
    for name in ("nowhere.txt", "no\0path"):
        with pytest.raises(ValueError, match="cannot be read .*; expected a file"):
            make_env(puzzles=name)


@pytest.mark.parametrize("name", ["zero", "pipe", "folder"])
def test_only_regular_files_are_read(tmp_path, name):
    (tmp_path / "zero").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=f"{name} is not a regular file; expected a text file$"):
        make_env(puzzles=str(tmp_path / name))


def test_across_the_end_of_a_file_there_are_fewer(write):
    env = make_env(puzzles={"train": write(GOLDEN)})
    assert len(env.tasks(Split.TRAIN, 0, 0, 200)) == 1
    with pytest.raises(ValueError, match="holds 1 puzzles of this split; expected fewer tasks or"):
        env.tasks(Split.TRAIN, 0, 1, 200)


def test_an_empty_split_says_what_to_do(write):
    path = write(GOLDEN)
    for puzzles, held in ((path, path), ({"train": path}, "no file named for it")):
        env = make_env(puzzles=puzzles)
        empty = next(
            split for split in (Split.TEST, Split.VALIDATION) if not has_puzzle(env, split)
        )
        with pytest.raises(ValueError, match="holds 0 puzzles .* a file for each split") as caught:
            env.tasks(empty, 0, 0, 1)
        assert str(caught.value).startswith(f"sudoku task 0 of {empty}: {held} holds")


def has_puzzle(env, split):
    """Whether the split has one."""
    return bool(puzzle_file.read_puzzles(env.options)[split])


def test_a_file_that_changed_is_read_again(write):
    make_env(puzzles=write(GOLDEN))
    with pytest.raises(ValueError, match="row 2"):
        make_env(puzzles=write(GOLDEN, UNSOLVABLE))


def test_clues_of_a_file_cannot_be_chosen(write):
    with pytest.raises(ValueError, match="num_clues is for generated puzzles"):
        make_env(puzzles=write(GOLDEN), num_clues=7)
