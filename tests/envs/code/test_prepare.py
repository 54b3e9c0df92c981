"""`python -m envs.code.prepare`: from records of the hub's formats to a file that can be played."""

import json

import pytest

from envs.base import Split, Status
from envs.code.prepare import main, unique
from envs.registry import make_environment
from tests.doubles.s3 import usual_s3
from tests.envs.code.made import double
from tests.envs.code.records import apps_call, apps_stdin, code_contests, live_code_bench


def write(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def prepared(folder, name, records, *more, split="train"):
    """The environment on what the command makes of these records."""
    source, output = write(folder / "in.jsonl", records), folder / "out.jsonl"
    command = [name, "--from", f"{split}={source}", "--output", str(output), *more]
    assert main(command) == 0
    manifest = json.loads((folder / "out.jsonl.manifest.json").read_text())
    options = {"problems": str(output), "sha256": manifest["sha256"]}
    return make_environment("code", options, "dense"), manifest


def test_apps(tmp_path, capsys):
    broken = {**apps_stdin(101), "solutions": '["print(0)"]'}
    records = [apps_call(0), apps_stdin(100), broken, apps_stdin(100)]
    env, manifest = prepared(tmp_path, "apps", records)
    assert {row.source for row in env.problems.by_key.values()} == {
        "apps/train/0",
        "apps/train/100",
    }
    assert manifest["licence"] == "MIT"
    assert manifest["left_out"] == {
        "apps/train/100": "the same question as apps/train/100",
        "apps/train/101": "none of 1 solutions passes its tests",
    }
    printed = capsys.readouterr().out
    assert "left out apps/train/101: none of 1 solutions passes its tests" in printed
    assert f"sha256: {manifest['sha256']}" in printed
    task = env.tasks(Split.TRAIN, 0, 0, 1)[0]
    state = env.reset(task)
    solution = env.problems.find(state.problem).solution
    result = env.step(state, "coder", f"```python\n{solution}\n```")
    assert result.rewards.team == 1.0
    assert result.status is Status.RUNNING


def test_apps_by_difficulty_and_limit(tmp_path):
    records = [apps_stdin(100), apps_call(0), apps_call(1), apps_call(2)]
    env, _ = prepared(tmp_path, "apps", records, "--difficulty", "introductory", "--limit", "2")
    assert {row.source for row in env.problems.by_key.values()} == {"apps/train/0", "apps/train/1"}


def test_a_set_without_validation_gives_a_tenth_of_its_train_problems(tmp_path):
    env, manifest = prepared(tmp_path, "apps", [apps_stdin(n) for n in range(100, 140)])
    assert set(manifest["problems"]) == {"train", "validation"}
    assert 0 < len(env.problems.rows(Split.VALIDATION)) < 12


def test_code_contests_and_live_code_bench(tmp_path):
    env, _ = prepared(tmp_path, "codecontests", [code_contests(n) for n in range(3)], split="test")
    assert len(env.problems.rows(Split.TEST)) == 3
    records = [live_code_bench(0), live_code_bench(1, functional=True)]
    env, manifest = prepared(tmp_path, "livecodebench", records, split="test")
    assert manifest["without_solution"] == 2


def test_into_object_storage(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with usual_s3(monkeypatch, "sets") as client:
        command = ["human-eval", "--limit", "3", "--output", "s3://sets/he.parquet"]
        assert main(command) == 0
        env = make_environment("code", {"problems": "s3://sets/he.parquet"}, "dense")
        assert len(env.problems.by_key) == 3
        body = client.get_object(Bucket="sets", Key="he.parquet.manifest.json")["Body"]
        assert json.loads(body.read())["sha256"] == env.problems.sha256


def test_fault_7_of_equal_questions_the_held_out_one_stays():
    rows = [double(split=Split.TRAIN), double(split=Split.TEST), double(1), double(1)]
    kept, left_out = unique(rows)
    assert kept == [rows[1], rows[2]]
    assert len(left_out) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["apps", "--from", "x.jsonl"], "expected train=FILE, validation=FILE or test=FILE"),
        (["apps", "--from", "train=/absent.jsonl"], "apps, /absent.jsonl: cannot be read"),
        (["codeio", "--difficulty", "easy"], "comes from an installed package"),
        (["human-eval", "--limit", "1", "--output", "a.csv"], "unknown kind of file"),
    ],
)
def test_errors_are_one_line_and_status_2(tmp_path, capsys, arguments, sentence):
    if "--output" not in arguments:
        arguments = [*arguments, "--output", str(tmp_path / "a.jsonl")]
    assert main(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert sentence in lines[0]
    assert list(tmp_path.iterdir()) == []
