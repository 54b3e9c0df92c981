"""The cursor over a finite set: epochs for train, an end for the others."""

import pytest

from envs.base import Split
from envs.problems import ProblemRow
from envs.problems.problem_set import problems_of


class Word(ProblemRow):
    word: str


SIZES = {Split.TRAIN: 7, Split.VALIDATION: 5, Split.TEST: 3}
PROBLEMS = problems_of(
    [Word(word=f"{split}{i}", split=split) for split, size in SIZES.items() for i in range(size)],
    "words",
)


def words(split, seed, start, count):
    return [row.word for row in PROBLEMS.draw(split, seed, start, count)]


def test_every_epoch_of_train_is_another_permutation():
    epochs = [words(Split.TRAIN, 3, 7 * epoch, 7) for epoch in range(4)]
    assert all(sorted(epoch) == sorted(epochs[0]) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1
    assert words(Split.TRAIN, 3, 5, 20) == sum(epochs, [])[5:25]


@pytest.mark.parametrize("split", [Split.VALIDATION, Split.TEST])
def test_the_others_end_and_hold_each_problem_once(split):
    whole = words(split, 0, 0, 100)
    assert sorted(whole) == [f"{split}{i}" for i in range(SIZES[split])]
    assert words(split, 0, 1, 1) == whole[1:2]
    with pytest.raises(ValueError, match=f"words has {SIZES[split]} problems in the split {split}"):
        words(split, 0, SIZES[split], 1)


def test_seeds_differ_and_negative_starts_are_refused():
    assert len({tuple(words(Split.TRAIN, seed, 0, 7)) for seed in range(5)}) > 1
    with pytest.raises(ValueError, match="problem -1; expected 0 or more"):
        words(Split.TRAIN, 0, -1, 2)


def test_an_empty_split_says_so():
    problems = problems_of([Word(word="a", split=Split.TRAIN)], "words")
    with pytest.raises(ValueError, match="words has 0 problems in the split test"):
        problems.draw(Split.TEST, 0, 0, 1)


def test_an_unknown_key_names_file_and_digest():
    with pytest.raises(ValueError, match=r"words .sha256 .* has no problem 'x'"):
        PROBLEMS.find("x")
