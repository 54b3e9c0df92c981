"""Files of entries made beforehand."""

import json
from pathlib import Path

import pytest

from envs.base import Split
from envs.checks import check_env
from envs.reasoning_gym import prepare
from envs.reasoning_gym.pools import FORMAT
from tests.envs.reasoning_gym.questions import make_env


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A pool of 150 questions and its digest."""
    path = tmp_path_factory.mktemp("pool") / "gcd.jsonl"
    assert prepare.main(["gcd", "--count", "150", "--output", str(path)]) == 0
    return path


def test_a_pool_is_a_finite_set_of_different_questions(pool):
    env = make_env("gcd", pool=str(pool))
    found = []
    for split in (Split.VALIDATION, Split.TEST):
        tasks = env.tasks(split, 0, 0, 1000)
        assert env.tasks(split, 0, 3, 2) == tasks[3:5]
        assert questions(env.tasks(split, 1, 0, 1000)) != questions(tasks)
        assert set(questions(env.tasks(split, 1, 0, 1000))) == set(questions(tasks))
        with pytest.raises(ValueError, match=rf"has {len(tasks)} tasks in this split; expected"):
            env.tasks(split, 0, len(tasks), 1)
        found += questions(tasks)
    size = 150 - len(found)
    first, second = (questions(env.tasks(Split.TRAIN, 0, start, size)) for start in (0, size))
    assert first != second and set(first) == set(second)
    assert len({*found, *first}) == 150


def questions(tasks):
    return [task.payload["entry"]["question"] for task in tasks]


def test_the_contract_holds(pool):
    env = make_env("gcd", pool=str(pool), roles="team")
    assert check_env(env, num_tasks=2, num_turns=2) == []


def test_making_it_again_gives_the_same_file(pool, tmp_path, capsys):
    again = tmp_path / "again.jsonl"
    assert prepare.main(["gcd", "--count", "150", "--output", str(again)]) == 0
    digest = capsys.readouterr().out.strip().rpartition("pool_digest: ")[2]
    assert again.read_bytes() == pool.read_bytes()
    make_env("gcd", pool=str(pool), pool_digest=digest)
    with pytest.raises(ValueError, match=rf"its SHA-256 is {digest}, expected {'0' * 64}"):
        make_env("gcd", pool=str(pool), pool_digest="0" * 64)


def test_a_generator_that_differs_between_processes_works_from_a_pool(tmp_path):
    path = tmp_path / "notes.jsonl"
    assert prepare.main(["ransom_note", "--count", "20", "--output", str(path)]) == 0
    assert make_env("ransom_note", pool=str(path)).tasks(Split.TRAIN, 0, 0, 3)


def damage(lines, number, **changes):
    lines = list(lines)
    lines[number - 1] = json.dumps({**json.loads(lines[number - 1]), **changes})
    return lines


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda lines: [], "line 1: not JSON"),
        (lambda lines: lines[:1], "it has no entries"),
        (lambda lines: damage(lines, 1, task="lcm"), "line 1, task: got 'lcm', expected 'gcd'"),
        (lambda lines: damage(lines, 1, config={"a": 1}), r"line 1, config: got .* expected \{\}"),
        (lambda lines: damage(lines, 1, format="x"), f"format: got 'x', expected '{FORMAT}'"),
        (lambda lines: [*lines[:3], "{"], "line 4: not JSON"),
        (lambda lines: [*lines[:3], "[]"], "line 4: got list, expected an object"),
        (lambda lines: damage(lines, 3, question=7), "line 3, question: got 7, expected a str"),
        (lambda lines: damage(lines, 3, metadata=None), "line 3, metadata: got None, expected a d"),
        (lambda lines: damage(lines, 3, metadata={"!": "tuple"}), "line 3, metadata: KeyError"),
        (lambda lines: [*lines, lines[2]], "line 152: question equals the one of line 3"),
    ],
)
def test_a_damaged_pool_is_refused_whole(pool, tmp_path, spoil, sentence):
    path = tmp_path / "spoiled.jsonl"
    path.write_text("\n".join(spoil(Path(pool).read_text().splitlines())))
    with pytest.raises(ValueError, match=f"pool {path}.*{sentence}") as caught:
        make_env("gcd", pool=str(path))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chess"], "'chess' is no generator"),
        (["boxnet"], "'boxnet' is refused"),
        (["gcd", "--set", "max_value"], "expected KEY=VALUE"),
        (["gcd", "--set", "max_value={"], "not YAML"),
        (["gcd", "--set", "max_val=3"], "config.max_val: unknown"),
        (["count_bits", "--set", "min_n=5", "--set", "max_n=6"], "different entries, expected 40"),
    ],
)
def test_what_cannot_be_prepared_is_one_line_and_leaves_no_file(
    arguments, sentence, tmp_path, capsys
):
    target = tmp_path / "pool.jsonl"
    assert prepare.main([*arguments, "--count", "40", "--output", str(target)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and sentence in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_workers_make_the_same_pool(pool, tmp_path):
    path = tmp_path / "two.jsonl"
    arguments = ["gcd", "--count", "150", "--workers", "2", "--output", str(path)]
    assert prepare.main(arguments) == 0
    assert path.read_bytes() == pool.read_bytes()
