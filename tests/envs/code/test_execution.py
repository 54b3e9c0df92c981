"""How outputs are compared, and what a problem file's row must be."""

import json

import pytest

from envs.base import Split
from envs.code.execution import same_values
from envs.code.problem import CodeProblem
from envs.problems import load_problems, write_problems
from tests.envs.code.made import add, cases, double


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3", "3"), ("3", "3.0"), ("0.30000000000000004", "0.3"), ("1e-9", "0.0"), ("NaN", "NaN"),
        ("[1, [2]]", "[1,[2]]"), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'), ("true", "true"),
        ("Infinity", "Infinity"), ('"a"', '"a"'),
    ],
)  # fmt: skip
def test_equal(one, other):
    assert same_values(one, other)
    assert same_values(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("204", "205"), ("10000000000000000", "10000000000000001"), ("0.75", "0.6"), ("3", '"3"'),
        ("[1]", "[1, 2]"), ("[1, 2]", "[2, 1]"), ('{"a": 1}', '{"a": 1, "b": 2}'), ("null", "0"),
        ("NaN", "1.0"), ("Infinity", "1e308"), ("[1.0]", "1.0"), ("", "1"), ("1 2", "1"),
        ("[" * 100_000, "[" * 100_000), ("9" * 400, "1.0"),
        ("true", "1"), ("false", "0"), ("true", "1.0"), ("[true]", "[1]"), ("true", "false"),
    ],
)  # fmt: skip
def test_fault_10_different(one, other):
    assert not same_values(one, other)
    assert not same_values(other, one)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"golden_tests": []}, "field golden_tests: got .*at least 1 item"),
        ({"golden_tests": cases(("1", " \n"))}, "golden_tests.0.output: got only white space"),
        ({"golden_tests": cases(("7", "2"), ("7", "3"))},
         "golden_tests.1: the input of golden_tests.0 again"),
        ({"public_tests": cases(("10", "20"))},
         "golden_tests.0: the input of public_tests.0 again"),
        ({"question": ""}, "field question: got ''"),
        ({"entry_point": "a b"}, "field entry_point: got 'a b'"),
        ({"entry_point": "f"}, "public_tests.0.input: got 1, expected a JSON array or object"),
        ({"entry_point": "f", "public_tests": cases(("[1]", "x"))},
         "public_tests.0.output: not JSON"),
        ({"canonical": "x"}, "field canonical: unknown"),
    ],
)  # fmt: skip
def test_a_bad_row_names_file_row_and_field(tmp_path, fields, sentence):
    good = double().model_dump(mode="json")
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(good)}\n{json.dumps({**good, 'question': 'Other.', **fields})}\n")
    with pytest.raises(ValueError, match=rf"a\.jsonl, row 2,? .*{sentence}|row 2, {sentence}"):
        load_problems(str(path), CodeProblem)


def test_the_same_question_with_other_tests_is_a_duplicate(tmp_path):
    rows = [double(split=Split.TRAIN), double(split=Split.TEST, golden=3)]
    with pytest.raises(ValueError, match="the same problem as row 1 .in train and test."):
        write_problems(str(tmp_path / "a.jsonl"), rows)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_every_format_keeps_both_kinds_of_problems(tmp_path, suffix):
    uri = str(tmp_path / f"a.{suffix}")
    write_problems(uri, [double(), add(solution=None, public_tests=[])])
    found = load_problems(uri, CodeProblem).rows(Split.TRAIN)
    assert list(found) == [double(), add(solution=None, public_tests=[])]
