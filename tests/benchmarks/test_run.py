"""The harness itself: ratios, goals, the table, and what a failing benchmark leaves behind."""

import json

import pytest

from tests.benchmarks import run
from tests.benchmarks.harness import compare, row, unmeasured, within


@pytest.mark.parametrize(
    ("ours", "other", "higher", "ratio"), [(2.0, 10.0, False, 5.0), (10.0, 2.0, True, 5.0)]
)
def test_a_ratio_says_how_many_times_better_ours_is(ours, other, higher, ratio):
    found = row("a", ours, other, 5.0, "s", higher_is_better=higher)
    assert (found["ratio"], found["met"]) == (ratio, True)


def test_goals_are_met_or_missed_or_absent():
    met = [row("a", 1.0, 2.0, goal, "s")["met"] for goal in (2.0, 2.1, None)]
    assert met == [True, False, None]
    assert [within("a", cost, 1.0, "s")["met"] for cost in (0.5, 1.5, 0.0)] == [True, False, True]


def test_compare_tells_the_slower_side():
    ours, other = compare(lambda: None, lambda: sum(range(100_000)), 3)
    assert 0 <= ours < other


def test_the_table_lines_up_and_shows_reasons():
    lines = run.table([row("short", 1, 2, 3, "s"), unmeasured("longer name", 5.0, "no\nnetwork")])
    assert lines[0].index("ratio") + len("ratio") == lines[1].index("2x") + len("2x")
    assert "NO" in lines[1] and lines[2].endswith("not measured: no network")


def test_a_benchmark_that_fails_is_a_row(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(run, "TARGET", tmp_path / "bench.json")
    monkeypatch.setattr(run, "benchmarks", lambda: ["that_is_missing"])
    assert run.main([]) == 0
    (found,) = json.loads((tmp_path / "bench.json").read_text())
    assert found["ours"] is None and "ModuleNotFoundError" in found["note"]
    assert "not measured" in capsys.readouterr().out


def test_an_unknown_name_is_refused(capsys):
    assert run.main(["--only", "nothing"]) == 2
    assert "expected one of advantages" in capsys.readouterr().err


def test_one_benchmark_leaves_the_rows_of_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "TARGET", tmp_path / "bench.json")
    monkeypatch.setattr(run, "benchmarks", lambda: ["one", "two"])

    def written():
        return [(row["benchmark"], row["note"]) for row in json.loads(run.TARGET.read_text())]

    def measured(word, *arguments):
        monkeypatch.setattr(
            run, "measure", lambda name: [unmeasured(name, None, word) | {"benchmark": name}]
        )
        run.main(arguments)
        return [(name, note.removeprefix("not measured: ")) for name, note in written()]

    assert measured("a", "--only", "two") == [("two", "a")]
    assert measured("b", "--only", "one") == [("one", "b"), ("two", "a")]
    assert measured("c", "--only", "two") == [("one", "b"), ("two", "c")]
    assert measured("d") == [("one", "d"), ("two", "d")]
    old = [unmeasured(name, None, "old") for name in ("one", "two")]  # without `benchmark`
    run.TARGET.write_text(json.dumps(old))
    run.main(["--only", "one"])
    found = json.loads(run.TARGET.read_text())
    assert [(it["name"], it["note"][-1]) for it in found] == [("one", "d"), ("two", "d")]
    run.TARGET.write_text("half of a fi")
    assert measured("f", "--only", "one") == [("one", "f")]
