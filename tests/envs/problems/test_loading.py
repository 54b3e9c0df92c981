"""Problem files: what is read back, and what is refused with which sentence."""

import gzip
import hashlib
import json
import os
from typing import Any

import pytest

from envs.base import Split
from envs.problems import Limits, ProblemRow, load_problems, write_problems

GOOD = '{"question": "one", "answer": 1}'


class Sum(ProblemRow):
    question: str
    answer: int
    tags: list[dict[str, str]] = []

    def content(self):
        return self.question


def rows(count):
    return [
        Sum(question=f"question {i}", answer=i, tags=[{"name": "é"}] * (i % 3))
        for i in range(count)
    ]


def load(path, text, **options):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_problems(str(path), Sum, **options)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_what_is_written_is_read_back(tmp_path, suffix):
    uri = str(tmp_path / "new" / f"sums.{suffix}")
    digest = write_problems(uri, rows(100))
    problems = load_problems(uri, Sum, sha256=digest)
    assert problems.sha256 == digest == write_problems(uri, rows(100))
    found = [row for split in Split for row in problems.rows(split)]
    key = lambda row: row.answer  # noqa: E731
    assert [row.model_copy(update={"split": None}) for row in sorted(found, key=key)] == rows(100)
    assert all(problems.find(row.key) is row for row in found)
    assert len(problems.rows(Split.TRAIN)) > 60 > len(problems.rows(Split.TEST)) > 0


def test_a_row_may_name_its_split(tmp_path):
    line = '{"question": "q%d", "answer": 1, "split": "validation"}\n'
    problems = load(tmp_path / "a.jsonl", line % 1 + line % 2)
    assert len(problems.rows(Split.VALIDATION)) == 2
    assert problems.rows(Split.TRAIN) == ()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"question": "two"}', "row 2, field answer: missing, expected a value"),
        ('{"question": "two", "answer": "x"}', "row 2, field answer: got 'x', expected: "),
        ('{"question": 2, "answer": 2}', "row 2, field question: got 2, expected: "),
        (
            '{"question": "\\ud800", "answer": 2}',
            "row 2: not a line of JSON .*surrogates not allowed",
        ),
        ('{"question": "2", "answer": 2, "anwser": 2}', r"row 2, field anwser: unknown, expected"),
        ('{"question": "2", "answer": 2, "split": "dev"}', "row 2, field split: got 'dev'"),
        ('{"question": "2", "answer": 2, "tags": [{"a": 1}]}', r"row 2, field tags.0.a: got 1"),
        ("[1]", r"row 2: got \[1\], expected an object"),
        ("", "row 2: not a line of JSON"),
        ('{"question": "two", ', "row 2: not a line of JSON"),
        ("[" * 100_000, "row 2: not a line of JSON"),
        ('{"question": "one", "answer": 2}', "row 2, field content: the same problem as row 1"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_loaded(tmp_path, line, sentence):
    with pytest.raises(ValueError, match=rf"a\.jsonl, {sentence}") as caught:
        load(tmp_path / "a.jsonl", f'{GOOD}\n{line}\n{{"question": "3", "answer": 3}}\n')
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def test_fault_7_one_problem_in_two_splits_is_refused(tmp_path):
    line = '{"question": "q", "answer": 1, "split": "%s"}\n'
    sentence = "row 2, field content: the same problem as row 1 .in train and test."
    with pytest.raises(ValueError, match=sentence):
        load(tmp_path / "a.jsonl", line % "train" + line % "test")


def test_bytes_that_are_no_text(tmp_path):
    with pytest.raises(ValueError, match="row 1: not a line of JSON .*utf-8"):
        load(tmp_path / "a.jsonl", b"\xff\xfe{}")


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.jsonl", b"", "no rows, expected 1 or more"),
        ("a.csv", b"x", "unknown kind of file, expected a name ending in"),
        ("a.jsonl.gz", gzip.compress(b"{}" * 99, mtime=0)[:20], "not a whole gzip file"),
        ("a.jsonl.gz", b"{}", "not a whole gzip file"),
        ("a.parquet", b"PAR1 no PAR1", "cannot be read as Parquet"),
    ],
)
def test_bad_files(tmp_path, name, data, sentence):
    with pytest.raises(ValueError, match=rf"{name}: {sentence}"):
        load(tmp_path / name, data)


def test_oversized_is_refused(tmp_path):
    long = json.dumps({"question": "x" * 500, "answer": 1})
    with pytest.raises(ValueError, match="row 2: 530 bytes, expected at most 200"):
        load(tmp_path / "a.jsonl", f"{GOOD}\n{long}\n", limits=Limits(row_bytes=200))
    with pytest.raises(ValueError, match="563 bytes, expected at most 400"):
        load(tmp_path / "a.jsonl", f"{GOOD}\n{long}\n", limits=Limits(file_bytes=400))
    bomb = gzip.compress(b"x" * 100_000)
    with pytest.raises(ValueError, match="more than 50000 bytes after decompression"):
        load(tmp_path / "a.jsonl.gz", bomb, limits=Limits(file_bytes=50_000))
    uri = str(tmp_path / "a.parquet")
    write_problems(uri, [*rows(3), Sum(question="x" * 500, answer=1)])
    with pytest.raises(ValueError, match="row 4: .* bytes, expected at most 200"):
        load_problems(uri, Sum, limits=Limits(row_bytes=200))
    with pytest.raises(ValueError, match="more than 3 rows"):
        load_problems(uri, Sum, limits=Limits(num_rows=3))


def test_a_pinned_file_must_not_change(tmp_path):
    path = tmp_path / "a.jsonl"
    digest = hashlib.sha256(GOOD.encode()).hexdigest()
    assert load(path, GOOD, sha256=digest).sha256 == digest
    with pytest.raises(ValueError, match=f"expected {digest} as pinned"):
        load(path, GOOD.replace("one", "two"), sha256=digest)
    with pytest.raises(ValueError, match="sha256 is 'abc', expected 64"):
        load(path, GOOD, sha256="abc")


def test_a_changed_file_is_read_anew(tmp_path):
    path = tmp_path / "a.jsonl"
    assert load(path, GOOD).sha256 != load(path, GOOD.replace("one", "two")).sha256


def test_places_that_do_not_work(tmp_path):
    with pytest.raises(ValueError, match=r"b\.jsonl: cannot be read .No such file"):
        load_problems(str(tmp_path / "b.jsonl"), Sum)
    with pytest.raises(ValueError, match="scheme 'https', expected a path"):
        load_problems("https://host/a.jsonl", Sum)
    with pytest.raises(ValueError, match="expected s3://bucket/key"):
        load_problems("s3://a.jsonl", Sum)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        write_problems(str(tmp_path / "file" / "a.jsonl"), rows(1))


@pytest.mark.parametrize("name", ["zero.jsonl", "pipe.jsonl.gz", "folder.parquet"])
def test_only_regular_files_are_read(tmp_path, name):
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.jsonl.gz")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(ValueError, match=rf"{name}: not a regular file, expected one$"):
        load_problems(str(tmp_path / name), Sum)


def test_a_file_that_holds_more_than_its_size_and_a_name_that_is_no_path(tmp_path):
    (tmp_path / "growing.jsonl").symlink_to("/proc/self/status")
    with pytest.raises(ValueError, match=r"growing\.jsonl: more bytes than its size 0"):
        load_problems(str(tmp_path / "growing.jsonl"), Sum)
    with pytest.raises(ValueError, match="is no path .embedded null byte."):
        load_problems("a\0.jsonl", Sum)


def test_nothing_bad_is_written(tmp_path):
    uri = str(tmp_path / "a.jsonl")
    with pytest.raises(ValueError, match="row 2, field content: the same problem"):
        write_problems(uri, [*rows(1), *rows(1)])
    with pytest.raises(ValueError, match="no rows to write"):
        write_problems(uri, [])
    assert list(tmp_path.iterdir()) == []


def test_a_file_address_works(tmp_path):
    assert (
        load_problems(f"file://{tmp_path}/a%20b.jsonl", Sum)
        if (write_problems(str(tmp_path / "a b.jsonl"), rows(2)))
        else False
    )


def test_a_file_that_cannot_keep_the_rows_is_not_written(tmp_path):
    class Anything(ProblemRow):
        value: Any

    with pytest.raises(
        ValueError, match=r"a\.parquet, row 2: this kind of file cannot keep its values"
    ):
        write_problems(str(tmp_path / "a.parquet"), [Anything(value={"a": 1}), Anything(value={})])
    assert list(tmp_path.iterdir()) == []
