"""Tasks by position, and the splits that their questions belong to."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from envs.base import Split
from envs.reasoning_gym import entries, generators, streams, verdicts
from envs.reasoning_gym.options import ReasoningGymOptions
from tests.envs.reasoning_gym.questions import make_env

PINNED = "from tests.envs.reasoning_gym.test_streams import digest; print(digest())"


def questions(env, split, seed=0, start=0, count=20):
    return [task.payload["entry"]["question"] for task in env.tasks(split, seed, start, count)]


def test_splits_are_disjoint_by_question_whatever_the_seed():
    env = make_env("gcd", config={"max_value": 12})
    found = {split: {*questions(env, split), *questions(env, split, 1)} for split in Split}
    assert not found[Split.TRAIN] & found[Split.VALIDATION]
    assert not found[Split.TRAIN] & found[Split.TEST]
    assert not found[Split.VALIDATION] & found[Split.TEST]


def test_white_space_makes_no_new_question():
    assert entries.digest("what  is\n1?") == entries.digest("what is 1?")


def test_any_slice_can_be_made_alone():
    whole = make_env("chain_sum").tasks(Split.TRAIN, 7, 0, 12)
    streams._generated.cache_clear()
    assert make_env("chain_sum").tasks(Split.TRAIN, 7, 9, 2) == whole[9:11]


def test_seeds_and_indices_give_other_questions():
    env = make_env("chain_sum")
    assert len({*questions(env, Split.TRAIN), *questions(env, Split.TRAIN, 1)}) >= 38


def test_a_config_without_questions_for_a_split_says_so():
    env = make_env("count_bits", config={"min_n": 5, "max_n": 6})
    with pytest.raises(ValueError, match=r"task 0 of .*: none of 300 entries of count_bits with"):
        for split in Split:
            env.tasks(split, 0, 0, 1)


def test_positions_below_zero_are_refused():
    with pytest.raises(ValueError, match="task -1 of test: expected 0 or more"):
        make_env("gcd").tasks(Split.TEST, 0, -1, 1)


def test_entries_whose_grading_cannot_be_trusted_are_left_out():
    entry = {"question": "q", "answer": "3", "metadata": {"source_dataset": "gcd"}}
    assert streams.trustworthy("gcd", "{}", json.dumps(entry))
    assert not streams.trustworthy("gcd", "{}", json.dumps({**entry, "answer": " "}))
    nothing = {"question": "x^2 = -1", "answer": "", "metadata": {}}
    assert not streams.trustworthy("polynomial_equations", "{}", json.dumps(nothing))


def test_global_random_states_are_left_as_they_were():
    import random

    before = random.getstate()
    streams.draw(ReasoningGymOptions(task="pool_matrix"), Split.TRAIN, 0, 0)
    assert random.getstate() == before


def digest():
    """Of a few tasks of generators that draw from global states, sets and files."""
    tasks = [
        (task.task_id, task.payload)
        for name in ("chain_sum", "list_functions", "pool_matrix", "word_sorting", "gsm_symbolic")
        for task in make_env(name).tasks(Split.TRAIN, 3, 5, 3)
    ]
    return hashlib.sha256(json.dumps(tasks, sort_keys=True).encode()).hexdigest()[:16]


def test_streams_are_pinned_and_the_same_in_another_process():
    """If the first fails, tasks have changed: raise the environment's version."""
    assert digest() == "e3c4c391c17a944a"
    other = subprocess.run(
        [sys.executable, "-c", PINNED], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert other.stdout.strip() == digest()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files left open
@pytest.mark.parametrize("task", sorted(verdicts.audited()[1]))
def test_a_loaded_generator_makes_what_a_new_one_makes(task):
    for seed in (2**30 + 5, 7):
        loaded = generators.make_entry(task, {}, seed)
        generators._loaded.cache_clear()
        assert entries.dump(generators.make_entry(task, {}, seed)) == entries.dump(loaded)
        with generators._global_seeds(seed):
            new = generators._factory().create_dataset(task, seed=seed, size=1)[0]
        assert (new["question"], new["answer"]) == (loaded["question"], loaded["answer"])
