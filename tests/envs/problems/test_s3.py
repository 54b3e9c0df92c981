"""Problem files in object storage (moto's S3), and the cache beside it."""

import pytest

from envs.problems import Limits, ProblemRow, load_problems, write_problems
from envs.problems.places import cache_folder
from tests.doubles.s3 import usual_s3

URI = "s3://problems/sets/a.jsonl"


class Word(ProblemRow):
    word: str


ROWS = [Word(word=f"word {i}") for i in range(20)]


@pytest.fixture
def bucket(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with usual_s3(monkeypatch, "problems") as client:
        yield client


def test_round_trip(bucket):
    digest = write_problems(URI, ROWS)
    problems = load_problems(URI, Word)
    assert problems.sha256 == digest
    assert [path.name for path in cache_folder().iterdir()] == [digest]


def test_a_pinned_file_comes_from_the_cache(bucket):
    digest = write_problems(URI, ROWS)
    load_problems(URI, Word, sha256=digest)
    bucket.delete_object(Bucket="problems", Key="sets/a.jsonl")
    assert load_problems(URI, Word, sha256=digest).sha256 == digest
    (cache_folder() / digest).write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"s3://problems/sets/a\.jsonl: .*NoSuchKey"):
        load_problems(URI, Word, sha256=digest)


def test_without_a_cache_folder_it_works_too(bucket, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    digest = write_problems(URI, ROWS)
    assert load_problems(URI, Word, sha256=digest).sha256 == digest


def test_refusals_are_one_line(bucket):
    with pytest.raises(ValueError, match=r"s3://nobody/a\.jsonl: .*NoSuchBucket"):
        load_problems("s3://nobody/a.jsonl", Word)
    with pytest.raises(ValueError, match=r"s3://nobody/a\.jsonl: .*NoSuchBucket"):
        write_problems("s3://nobody/a.jsonl", ROWS)
    write_problems(URI, ROWS)
    with pytest.raises(ValueError, match=r"bytes, expected at most 10"):
        load_problems(URI, Word, limits=Limits(file_bytes=10))
