"""Intervals over seeds, claims and their verdicts, tables and curves, from results made by hand."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError
from components.reporting.spread import success_over_seeds
from components.reporting.summary import IterationRow, Result, RunSummary
from pipelines.__main__ import main
from pipelines.study.claims import findings, over_seeds
from pipelines.study.figures import standardised, write_curves, write_rewards
from pipelines.study.plan import load_study
from pipelines.study.publishing import report_text, with_others
from pipelines.study.results import (
    Point,
    RunResult,
    cpu_seconds,
    mean_visits,
    over_training,
    points,
)
from pipelines.study.tables import arms_table, claims_table
from tests.pipelines.study.studies import ARMS, write_study


def make_result(arm: str, seed: int, final: Mapping[str, float], success: float = 0.5) -> RunResult:
    start = Point(0, 0, 0, 0.25, 3.0, 2.5, {}, {})
    end = Point(1, 24, 70, success, 2.0, 1.5, {"A": 0.5}, {"A": 0.1}, 0.9, 2.75, 6.0)
    return RunResult(arm, seed, [start, end], {"start": 0.25, **final}, {"validation": 200}, 90.0)


def three(arm: str, *values: float) -> list[RunResult]:
    return [make_result(arm, seed, {"validation": value}) for seed, value in enumerate(values)]


def claim(first: str, second: str, **more: Any) -> dict[str, Any]:
    return {"text": f"{first} beats {second}", "first": first, "second": second, **more}


@pytest.mark.parametrize(
    ("shared", "verdict"),
    [
        ((0.10, 0.12, 0.11), "holds"),
        ((0.99, 0.98, 1.00), "the opposite"),
        ((0.20, 0.90, 0.60), "undecided"),
    ],
)
def test_a_claim_holds_if_its_interval_over_seeds_is_on_one_side(
    tmp_path: Path, shared: tuple[float, ...], verdict: str
) -> None:
    study = load_study(write_study(tmp_path, claims=[claim("team", "shared")]))
    (finding,) = findings(study, three("team", 0.5, 0.52, 0.51) + three("shared", *shared))
    assert finding.verdict == verdict
    assert finding.num_seeds == 3


def test_a_verdict_says_of_how_many_seeds_it_is(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, seeds=[0, 1, 2], claims=[claim("team", "shared")]))
    found = three("team", 0.9, 0.92, 0.94)[:2] + three("shared", 0.1, 0.11, 0.12)
    (finding,) = findings(study, found)
    assert finding.verdict == "holds (2 of 3 seeds)"
    (alone,) = findings(study, found[:1] + found[2:3])
    assert alone.verdict == "undecided (1 of 3 seeds)"


@pytest.mark.parametrize(("more", "verdict"), [(0.005, "undecided"), (0.015, "holds")])
def test_one_task_decides_nothing(tmp_path: Path, more: float, verdict: str) -> None:
    """Of 200 tasks; three equal differences have an interval without width."""
    study = load_study(write_study(tmp_path, claims=[claim("team", "shared")]))
    found = three("team", *[0.9 + more] * 3) + three("shared", 0.9, 0.9, 0.9)
    assert findings(study, found)[0].verdict == verdict


def test_what_no_evaluation_had_is_not_measured(tmp_path: Path) -> None:
    claims = [claim("team", "team/validation/swapped")]
    study = load_study(write_study(tmp_path, claims=claims))
    assert findings(study, three("team", 0.9))[0].verdict == "not measured"


def test_training_is_longer_by_what_it_exceeds_the_same_team_by() -> None:
    def point(number: int, turns: float | None, train: float | None) -> Point:
        return Point(number, 0, 0, None, turns, None, {}, {}, None, train)

    way = [point(0, 2.0, None), point(1, 1.5, 2.5), point(2, None, 1.75), point(3, 1.0, None)]
    run = RunResult("team", 0, way, {}, {}, 0.0)
    assert run.longer == pytest.approx((0.5 + 0.25) / 2)
    assert run.num_updates is None


def test_seeds_are_compared_with_themselves(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, claims=[claim("team", "shared")]))
    found = three("team", 0.2, 0.5, 0.8) + three("shared", 0.1, 0.4, 0.7)
    (finding,) = findings(study, found)
    assert finding.difference == pytest.approx((0.1, 0.1, 0.1))
    assert finding.verdict == "holds"


def test_a_measure_may_be_of_one_end_alone(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, claims=[claim("team", "team/start")]))
    (finding,) = findings(study, three("team", 0.9, 0.9, 0.9))
    assert (finding.first, finding.second) == pytest.approx((0.9, 0.25))


def test_what_was_not_run_is_said(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, claims=[claim("team", "shared", paper="9 vs 1")]))
    found = findings(study, three("team", 0.9, 0.9, 0.9))
    assert claims_table(found).splitlines()[-1] == (
        "| team beats shared | 9 vs 1 | - | - | not run | - |"
    )


def test_the_table_has_means_intervals_and_costs(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, arms=ARMS))
    table = arms_table(study, three("team", 0.90, 0.94, 0.98)).splitlines()
    assert table[0] == (
        "| arm | seeds | before | after | turns to solve | longer | iterations | updates "
        "| candidates | tokens | CPU min |"
    )
    assert table[2] == (
        "| the team | 3 | 25.0 % (25.0 - 25.0) | 94.0 % (84.1 - 100.0) | 1.50 | -0.25 | 1 | 6 "
        "| 24 | 70 | 1.5 |"
    )


def test_visits_are_a_column_where_they_are_known(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, arms=ARMS))
    known = [replace(item, visits=0.1 + 0.2 * item.seed) for item in three("team", 0.9, 0.9, 0.9)]
    table = arms_table(study, [*known, *three("shared", 0.5, 0.5, 0.5)]).splitlines()
    column = table[0].split(" | ").index("visits")
    assert [line.split(" | ")[column] for line in table[2:]] == ["0.30", "-"]


def test_visits_are_the_mean_over_iterations_that_have_them(tmp_path: Path) -> None:
    def summary(*values: float | None) -> RunSummary:
        name = "rollout/train/visits_distance"
        rows = [
            IterationRow(number, None, None, None, None, {}, {}, {} if it is None else {name: it})
            for number, it in enumerate(values)
        ]
        config = load_study(write_study(tmp_path)).config("shared", 0, {})
        return RunSummary("r", config, rows)

    assert mean_visits(summary(None, 0.2, None, 0.4)) == pytest.approx(0.3)
    assert mean_visits(summary(None, None)) is None


def test_one_seed_has_the_interval_over_its_tasks(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    (one,) = three("team", 0.9)
    assert "| 90.0 % |" in arms_table(study, [one])  # tasks unknown
    known = replace(one, bounds={"validation": (0.851, 0.934)})
    assert "| 90.0 % (85.1 - 93.4) |" in arms_table(study, [known])
    assert over_seeds([], "team", "validation") is None


def test_a_study_and_a_report_state_the_same_interval(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    base = {**study.base, "evaluation": {**study.base["evaluation"], "confidence": 0.8}}
    study = replace(study, base=base)
    rates = (0.89, 0.90, 0.91)
    mean, low, high = success_over_seeds([Result(it, 0.0, 1.0, 2.0, 200) for it in rates], 0.8)
    expected = f"{100 * mean:.1f} % ({100 * low:.1f} - {100 * high:.1f})"
    assert expected in arms_table(study, three("team", *rates))
    assert "80% interval over seeds" in report_text(study, three("team", *rates))


def test_points_count_what_was_generated_before_a_team(tmp_path: Path) -> None:
    def row(iteration: int, metrics: Mapping[str, float]) -> IterationRow:
        return IterationRow(iteration, 0.1 * iteration, None, None, 2.0, {}, {}, metrics)

    made = {"rollout/A/num_candidates": 8.0, "rollout/B/num_candidates": 4.0, "rollout/x": 9.0}
    tokens = {"rollout/A/num_tokens": 30.0, "rollout/num_tokens": 99.0}
    config = load_study(write_study(tmp_path)).config("shared", 0, {})
    summary = RunSummary("r", config, [row(0, {}), row(1, made | tokens), row(2, made)])
    assert [(point.candidates, point.tokens) for point in points(summary)] == [
        (0, 0), (12, 30), (24, 30),
    ]  # fmt: skip


def way(*points: tuple[int, float | None]) -> list[Point]:
    return [
        Point(number, candidates, 0, success, None, None, {}, {})
        for number, (candidates, success) in enumerate(points)
    ]


def test_success_over_training_is_the_area_under_the_curve() -> None:
    assert over_training(way((0, 0.2), (10, 0.6), (20, 0.6)), 20) == pytest.approx(0.5)
    unevaluated = way((0, 0.2), (4, None), (10, 0.6), (20, 0.6))
    assert over_training(unevaluated, 20) == pytest.approx(0.5)


def test_over_training_stops_at_the_budget() -> None:
    """The last iteration of an arm overshoots; it must not count for more than the others'."""
    assert over_training(way((0, 0.0), (10, 1.0), (30, 0.0)), 20) == pytest.approx(0.625)
    assert over_training(way((0, 0.4), (10, 0.4)), 20) == pytest.approx(0.4)


@pytest.mark.parametrize("points", [way((0, 0.4)), way((5, 0.4), (20, 0.8)), way()])
def test_a_curve_that_does_not_begin_at_the_start_has_no_such_mean(points: list[Point]) -> None:
    assert over_training(points, 20) is None


def test_a_claim_tells_who_learns_faster_where_both_end_alike(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, claims=[claim("team", "shared")]))
    fast = [make_result("team", s, {"validation": 0.9, "training": 0.7 + s / 10}) for s in (0, 1)]
    slow = [make_result("shared", s, {"validation": 0.9, "training": 0.5 + s / 10}) for s in (0, 1)]
    found = findings(study, [*fast, *slow])
    assert found[0].learning == pytest.approx((0.2, 0.2, 0.2))
    assert (
        claims_table(found)
        .splitlines()[-1]
        .endswith("| +0.0 (+0.0 to +0.0) | undecided | +20.0 (+20.0 to +20.0) |")
    )
    assert "| over training |" in arms_table(study, fast)


def written(path: Path, *found: RunResult) -> str:
    path.write_text(json.dumps([item.to_json() for item in found]))
    return str(path)


def test_seeds_of_another_machine_are_joined_in_the_plans_order(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, seeds=[0, 1]))
    here, there, worse = (
        replace(make_result("team", s, {"validation": value}), digest=study.digest("team", s),
                bounds={"validation": (0.1, 0.9)})
        for s, value in ((1, 0.8), (0, 0.6), (1, 0.1))
    )  # fmt: skip
    other = written(tmp_path / "other.json", worse, there)
    assert with_others(study, [here], [other]) == [there, here]


def some_of(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    """Exit code and output of `study --results` with what another machine found."""
    path = write_study(folder, seeds=[0, 1], claims=[claim("team", "shared")])
    study = load_study(path)
    values = {("team", 0): 0.9, ("team", 1): 0.5, ("shared", 0): 0.25, ("shared", 1): 0.35}
    found = [
        replace(make_result(*job, {"validation": value}), digest=study.digest(*job))
        for job, value in values.items()
    ]
    other = written(folder / "other.json", *found)
    code = main(["study", str(path), "--results", "--with", other, *more])
    return (code, *capsys.readouterr())


def test_results_of_some_seeds_are_of_these_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = some_of(tmp_path, capsys, "--seeds", "1")
    assert code == 0
    assert "| the team | 1 | 25.0 % | 50.0 % |" in out
    assert "| 50.0% vs 35.0% | +15.0 | undecided (1 of 2 seeds) |" in out
    assert "no file was written" in out and not (tmp_path / "build").exists()
    _, out, _ = some_of(tmp_path, capsys, "--arms", "team")
    assert "| the team | 2 |" in out and "one policy" not in out and "team beats shared" not in out
    _, out, _ = some_of(tmp_path, capsys, "--arms", "mixed")
    assert out == "words: no run of these arms and seeds is done yet\n"
    _, out, _ = some_of(tmp_path, capsys)
    assert "| the team | 2 | 25.0 % (25.0 - 25.0) | 70.0 %" in out
    assert (tmp_path / "build/studies/words/results.json").exists()


@pytest.mark.parametrize("more", [("--seeds", "1"), ("--arms", "team")])
def test_a_part_of_a_study_is_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, str]
) -> None:
    (tmp_path / "README.md").write_text("as it is")
    code, out, err = some_of(tmp_path, capsys, *more, "--write")
    assert (code, out) == (2, "") and "whole study into its README; expected no --arms" in err
    assert err.count("\n") == 1 and (tmp_path / "README.md").read_text() == "as it is"


def test_results_of_other_settings_are_not_joined(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    old = replace(make_result("team", 0, {}), digest=study.digest("team", 0))
    other = written(tmp_path / "other.json", old)
    dearer = load_study(write_study(tmp_path, candidates=40))
    with pytest.raises(ConfigError, match="other.json: team, seed 0: trained with other settings"):
        with_others(dearer, [], [other])
    changed = {**ARMS, "start": {**ARMS["start"], "set": {"warm_start": {"steps": 3}}}}
    later = load_study(write_study(tmp_path, arms=changed))
    with pytest.raises(ConfigError, match="trained with other settings"):
        with_others(later, [], [other])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "cannot be read: No such file"),
        ("[{]", "not a study's results.json"),
        ('[{"arm": "team"}]', "not a study's results.json"),
        ("7", "not a study's results.json"),
        ("null", "not a study's results.json"),
        ("[" * 100_000, "not a study's results.json"),
    ],
)
def test_files_of_results_that_are_none_are_refused(
    tmp_path: Path, content: str | None, fault: str
) -> None:
    study, path = load_study(write_study(tmp_path)), tmp_path / "other.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=f"other.json: {fault}"):
        with_others(study, [], [str(path)])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"final": {"validation": 7}}, "final.validation: Input should be less than .* got 7"),
        ({"final": {"validation": math.nan}}, "final.validation: Input should be .*finite.* nan"),
        ({"final": {"validation": "x"}}, "final.validation: .*valid number, got 'x'"),
        ({"points": []}, "points: .*at least 1 item"),
        ({"bounds": {"test": [0.2]}}, "bounds.test.1: missing"),
        ({"colour": "red"}, "colour: unknown key"),
    ],
)
def test_a_damaged_result_is_named(tmp_path: Path, changes: dict[str, Any], fault: str) -> None:
    study, path = load_study(write_study(tmp_path)), tmp_path / "other.json"
    whole = json.loads(json.dumps(make_result("team", 0, {}).to_json()))
    path.write_text(json.dumps([whole, whole | changes]))
    with pytest.raises(ConfigError, match=f"other.json: .*: team, seed 0: {fault}"):
        with_others(study, [], [str(path)])


def test_results_of_arms_and_seeds_that_a_study_has_not_are_refused(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    for arm, seed in (("strange", 0), ("team", 5)):
        other = written(tmp_path / "other.json", make_result(arm, seed, {}))
        with pytest.raises(ConfigError, match=f"{arm}, seed {seed}: not of words"):
            with_others(study, [], [other])


def test_cpu_seconds_are_those_of_training(tmp_path: Path) -> None:
    def row(iteration: int, metrics: Mapping[str, float]) -> IterationRow:
        return IterationRow(iteration, None, None, None, None, {}, {}, metrics)

    begun = {"system/initialise/cpu_s": 1.0, "system/warm_start/cpu_s": 300.0}
    steps = {"system/rollout/cpu_s": 5.0, "system/update/cpu_s": 7.0, "system/update/wall_s": 9.0}
    config = load_study(write_study(tmp_path)).config("shared", 0, {})
    assert cpu_seconds(RunSummary("r", config, [row(0, begun), row(1, steps)])) == 13.0


def test_curves_name_their_arms_and_are_the_same_twice(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    found = three("team", 0.9, 0.8, 0.7)
    for name in ("one.svg", "two.svg"):
        write_curves(study, found, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert "the team" in text and "candidates generated in training" in text
    assert text == (tmp_path / "two.svg").read_text()


def test_rewards_are_standardised_by_run_and_role(tmp_path: Path) -> None:
    def rewarded(number: int, rewards: Mapping[str, float]) -> Point:
        return Point(number, 24 * number, 0, None, None, None, rewards, {})

    steps = [rewarded(0, {}), rewarded(1, {"A": 0.2, "B": 1.0}), rewarded(2, {"A": 0.8, "B": 1.0})]
    assert standardised(steps, "A") == ([24, 48], pytest.approx([-1.0, 1.0]))
    assert standardised(steps, "B") == ([24, 48], [0.0, 0.0])

    study = load_study(write_study(tmp_path))
    found = [replace(item, points=steps) for item in three("team", 0.9, 0.8, 0.7)]
    assert write_rewards(study, found, tmp_path / "rewards.svg")
    text = (tmp_path / "rewards.svg").read_text()
    assert all(f">{word}<" in text for word in ("the team", "A", "B"))


def test_what_was_not_trained_has_no_rewards_to_draw(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    assert not write_rewards(study, three("team", 0.9), tmp_path / "rewards.svg")
    assert not (tmp_path / "rewards.svg").exists()
