"""The code that trained a study's runs: noted, kept in results.json, told where it differs."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.__main__ import main
from pipelines.study import running
from pipelines.study.code import codes_of, difference, note_code, this_code
from pipelines.study.plan import load_study
from pipelines.study.publishing import publish
from pipelines.study.results import parse_results
from tests.pipelines.study.studies import write_study
from tests.pipelines.study.test_results import make_result, written

OLD, NEW = "0.1.0-" + "a" * 40, "0.1.0-" + "b" * 40


def test_it_is_the_projects_version_and_the_checkouts_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROLEWISE_GIT_COMMIT", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert this_code() == "0.1.0"
    for command in ("init -q", "-c user.name=n -c user.email=e commit -q --allow-empty -m m"):
        subprocess.run(["git", *command.split()], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert this_code() == f"0.1.0-{head.stdout.strip()}"


def test_a_run_has_the_codes_of_all_that_went_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = load_study(write_study(tmp_path))
    store = running.store_of(study)
    assert codes_of(store, ["words-start-s0"]) == []
    for run, commit in (("words-start-s0", "b"), ("words-start-s0", "a"), ("words-team-s0", "b")):
        monkeypatch.setenv("ROLEWISE_GIT_COMMIT", commit * 40)
        for begun in (False, True):
            note_code(store, run, begun)
    assert codes_of(store, ["words-team-s0"]) == [NEW]
    assert codes_of(store, ["words-team-s0", "words-start-s0"]) == [OLD, NEW]


def test_what_was_not_noted_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = running.store_of(load_study(write_study(tmp_path)))
    monkeypatch.setenv("ROLEWISE_GIT_COMMIT", "b" * 40)
    note_code(store, "begun-before", begun=True)
    assert codes_of(store, ["begun-before"]) == [NEW, "unknown"]
    note_code(store, "new", begun=False)
    assert codes_of(store, ["new", "a-start-of-before"]) == [NEW, "unknown"]
    assert codes_of(store, ["a-start-of-before"]) == []


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([], None), ([[], []], None), ([[OLD], [OLD]], None),
        ([[OLD], [NEW], [OLD]], "0.1.0-aaaaaaaaaaaa (2 runs), 0.1.0-bbbbbbbbbbbb (1 run)"),
        ([[OLD], [], []], "0.1.0-aaaaaaaaaaaa (1 run), unknown (2 runs)"),
        ([[OLD, NEW]], "0.1.0-aaaaaaaaaaaa and 0.1.0-bbbbbbbbbbbb (1 run)"),
    ],
)  # fmt: skip
def test_several_versions_are_one_line(codes: list[list[str]], said: str | None) -> None:
    line = difference(codes)
    assert line == (said and f"note: not all runs were trained by one version of the code: {said}")


def test_results_keep_their_code_and_those_without_stay_as_they_are() -> None:
    known = replace(make_result("team", 0, {}), code=[OLD])
    content = json.loads(json.dumps(known.to_json()))
    assert content["code"] == [OLD] and parse_results(json.dumps([content]))[0] == known
    unknown = make_result("team", 0, {}).to_json()
    assert "code" not in unknown and parse_results(json.dumps([unknown]))[0].code == []


def test_publishing_says_so_on_stderr_and_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    study = load_study(write_study(tmp_path, seeds=[0, 1]))
    told = {}
    for codes in ((OLD, OLD), (OLD, NEW)):
        found = [
            replace(make_result("team", seed, {"validation": 0.5}), code=[code],
                    digest=study.digest("team", seed))
            for seed, code in enumerate(codes)
        ]  # fmt: skip
        publish(study, None, print, [written(tmp_path / "other.json", *found)])
        told[codes] = capsys.readouterr()
    alike, apart = told.values()
    assert alike.err == "" and alike.out == apart.out
    assert apart.err.startswith("note: not all runs were") and apart.err.count("\n") == 1
    kept = json.loads((tmp_path / "build/studies/words/results.json").read_text())
    assert [item["code"] for item in kept] == [[OLD], [NEW]]


def test_where_nothing_is_done_the_published_results_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_study(tmp_path, seeds=[0, 1])
    study = load_study(path)
    found = [
        replace(make_result("team", seed, {"validation": 0.5}), digest=study.digest("team", seed))
        for seed in (0, 1)
    ]
    written(tmp_path / "results.json", *found)
    for more, seeds in ([], 2), (["--seeds", "1"], 1):
        assert main(["study", str(path), "--results", *more]) == 0
        told = capsys.readouterr().out
        assert f"no run is done here; these are of {tmp_path}/results.json" in told
        assert f"| the team | {seeds} |" in told
    (tmp_path / "results.json").unlink()
    assert main(["study", str(path), "--results"]) == 0
    assert "no run is done yet" in capsys.readouterr().out
