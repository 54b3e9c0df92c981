"""The streams: one solution each, addressable, and split by content."""

import hashlib
import json
from itertools import product

import pytest

from envs.base import Split
from envs.splits import permute, permuted
from envs.sudoku import instances, numbering
from envs.sudoku.symmetry import relabelled_digest
from tests.envs.sudoku.puzzles import UNSOLVABLE, make_env, textbook_solutions

LARGE = {"num_clues": [14, 15], "distinct": "identity"}


def puzzles(split, seed, start, count, **options):
    """The stream's grids."""
    tasks = make_env(**options).tasks(split, seed, start, count)
    return ["".join(task.payload["rows"]) for task in tasks]


@pytest.mark.parametrize("split", Split)
def test_fault_7_every_instance_has_one_solution_and_its_clues(split):
    for index, puzzle in enumerate(puzzles(split, 4, 0, 60, num_clues=[5, 7])):
        assert len(textbook_solutions(puzzle)) == 1
        assert 16 - puzzle.count(".") == 5 + index % 3
        assert puzzle != UNSOLVABLE


@pytest.mark.parametrize(("size", "num_clues"), [(6, 14), (9, 27)])
def test_larger_sizes(size, num_clues):
    for puzzle in puzzles(Split.TRAIN, 0, 0, 3, size=size, num_clues=num_clues):
        assert size == 9 or len(textbook_solutions(puzzle)) == 1
        assert instances.count_solutions(puzzle) == 1
        assert size * size - puzzle.count(".") == num_clues


@pytest.mark.parametrize("distinct", ["relabelled", "identity"])
def test_fault_7_splits_are_disjoint_and_streams_hold_no_puzzle_twice(distinct):
    owners = {}
    for split, seed in product(Split, (0, 1)):
        found = puzzles(split, seed, 0, 60, distinct=distinct, num_clues=5)
        assert len(set(found)) == 60
        for puzzle in found:
            content = puzzle if distinct == "identity" else relabelled_digest(puzzle)
            assert owners.setdefault(content, split) is split


def test_identity_lets_twins_into_two_splits():
    twins = {}
    for split in Split:
        for puzzle in puzzles(split, 0, 0, 200, distinct="identity", num_clues=5):
            twins.setdefault(relabelled_digest(puzzle), set()).add(split)
    assert max(map(len, twins.values())) > 1


@pytest.mark.parametrize("size", [4, 6])
def test_any_slice_can_be_made_alone(size):
    whole = puzzles(Split.TRAIN, 7, 0, 20, size=size)
    instances._stream.cache_clear()
    instances._carved.cache_clear()
    assert puzzles(Split.TRAIN, 7, 13, 4, size=size) == whole[13:17]


def test_numbers_are_puzzles_one_to_one():
    size = numbering.num_candidates(2)
    assert size == 288 * 120
    grids = [numbering.numbered(2, number) for number in range(0, size, 288)]
    assert len(set(grids)) == 120
    assert all(grid.count(".") == 14 for grid in grids)


@pytest.mark.parametrize(
    ("options", "index", "sentence"),
    [
        ({"num_clues": 15}, 10**6, "task 1000000 of test: size 4, .* leave this split 3072 puz"),
        ({"num_clues": 15}, 3_072, r"num_clues \[15, 15\] and distinct rel.* this split 3072 puz"),
        (LARGE, 10_000, "task 10000 of test: .* leave this split [0-9]+ puzzles"),
        ({"size": 9, "num_clues": 17}, 0, "task 0 of test: 2 solutions led to no puzzle with 17"),
        ({}, -1, "task -1 of test: expected 0 or more"),
    ],
)
def test_streams_that_end_say_so(options, index, sentence, monkeypatch):
    monkeypatch.setattr(instances, "DRAWS", 2)
    with pytest.raises(ValueError, match=sentence):
        make_env(**options).tasks(Split.TEST, 0, index, 1)


def test_a_stream_that_ends_has_as_many_as_it_says():
    env, counts = make_env(num_clues=15, distinct="identity"), []
    for split in Split:
        with pytest.raises(ValueError, match="split [0-9]+ puzzles") as caught:
            env.tasks(split, 5, 10_000, 1)
        counts.append(int(str(caught.value).split("this split ")[1].split()[0]))
        tasks = env.tasks(split, 5, 0, counts[-1])
        assert len(tasks) == counts[-1]
        assert env.tasks(split, 5, counts[-1] - 2, 9) == tasks[-2:]  # across the end
    assert sum(counts) == 288 * 16


@pytest.mark.parametrize(("options", "empty_from"), [({"num_clues": [13, 15]}, 0), (LARGE, 3_682)])
def test_a_number_of_clues_that_has_no_puzzle_left_is_skipped(options, empty_from):
    """Of 15 clues train has none (relabelled), or 3682 (identity)."""
    fewest, most = options["num_clues"]
    span = most - fewest + 1
    found = puzzles(Split.TRAIN, 0, empty_from * span, 40, **options)
    expected = [fewest + index % (span - 1) for index in range(40)]
    assert [16 - puzzle.count(".") for puzzle in found] == expected
    instances._stream.cache_clear()
    assert puzzles(Split.TRAIN, 0, empty_from * span + 7, 3, **options) == found[7:10]


def test_a_stream_with_exhausted_numbers_holds_all_puzzles_once():
    found = puzzles(Split.TEST, 3, 0, 3_072 + 3_072, num_clues=[14, 15])
    assert len(set(found)) == 6_144
    assert {16 - puzzle.count(".") for puzzle in found} == {14, 15}
    with pytest.raises(ValueError, match="leave this split 6144 puzzles"):
        puzzles(Split.TEST, 3, 6_144, 1, num_clues=[14, 15])


@pytest.mark.parametrize("num_clues", range(4, 16))
def test_kinds_are_what_a_search_and_the_digest_say(num_clues):
    size = numbering.num_candidates(num_clues)
    for number in range(17, size, size // 150 + 1):
        puzzle = numbering.numbered(num_clues, number)
        unique = instances.count_solutions(puzzle) == 1
        expected = instances.split_of(puzzle, "relabelled") if unique else None
        assert numbering.kind_of(num_clues, number) is expected


def test_counts_of_puzzles_are_known():
    """25,728 puzzles have 4 clues: the same number as by searching every one of them."""
    assert sum(numbering.num_puzzles(4, split) for split in Split) == 25_728
    kinds = [numbering.kind_of(14, number) for number in range(numbering.num_candidates(14))]
    assert all(kinds.count(split) == numbering.num_puzzles(14, split) for split in Split)


@pytest.mark.parametrize("size", [1, 2, 5, 64, 4_608])
def test_a_walk_visits_what_single_positions_say(size):
    key = "sudoku/3"
    assert list(permuted(size, key)) == [permute(place, size, key) for place in range(size)]


def test_streams_are_pinned():
    """If this fails, tasks have changed: raise the environment's version."""
    texts = []
    for size, count in ((4, 20), (6, 5), (9, 3)):
        env = make_env(size=size)
        assert env.version == "1"
        texts += [
            json.dumps(task.payload) for split in Split for task in env.tasks(split, 0, 0, count)
        ]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert digest[:16] == "ee5c2a53db7b5971"
