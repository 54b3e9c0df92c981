"""The page: complete, self-contained, and safe to open whatever names it shows."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from components.config import OPEN_ENDED
from components.reporting.budget import Hardware
from components.reporting.charts import charts
from components.reporting.experiments import experiments
from components.reporting.figure import Curve, Point, line_chart, number
from components.reporting.html import html_report, report
from components.reporting.summary import RunSummary
from tests.components.reporting.made_up import make_iteration, make_result, make_summary
from tests.components.reporting.made_up_runs import make_run
from tests.doubles.chromium import Page

EVIL = "<script>window.hit=1</script>"


def body_of(page: str) -> str:
    """The page without its scripts and its style."""
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def drawn(*runs: RunSummary) -> list[go.Figure]:
    """Every chart as Plotly reads it: it refuses attributes that it does not know."""
    found = charts(experiments(runs))
    return [go.Figure(data=_plain(chart.data), layout=chart.layout) for chart in found]


def _plain(value: Any) -> Any:
    """Theme colours as one that Plotly knows."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return "#123456" if isinstance(value, str) and value.startswith("var(") else value


def test_every_section_is_there() -> None:
    text = body_of(html_report(make_run()))
    for heading in (
        "Promotion", "Results", "Cost", "Final evaluation", "Curves", "Signal by role and turn",
        "Runs", "Iterations", "Groups",
    ):  # fmt: skip
        assert re.search(rf"<h2[^>]*>{heading}", text), heading
    assert "6.0 → 93.5 %" in text and "policies swapped, validation" in text
    assert "made_up@8 against the team that the run began with, asked on 2026-01-01." in text


def test_an_extended_run_has_not_made_more_than_it_should() -> None:
    run = make_run()
    last = run.rows[-1].iteration
    shorter = replace(run, config=run.config.model_copy(update={"iterations": 1}))
    assert last > 1 and f"{last} of {last} iterations" in body_of(html_report(shorter))


def test_every_chart_has_axis_titles_and_data_that_plotly_takes() -> None:
    titles = [chart.title for chart in charts(experiments([make_run()]))]
    assert titles == [
        "Success", "Success over candidates", "Turns to solve", "Turns per episode",
        "Standardised reward per role", "Reward per role", "Groups without variance",
        "KL to the sampling policy", "Clipped tokens", "Entropy", "Gradient norm",
        "Rollout throughput", "Time per stage",
    ]  # fmt: skip
    for figure in [*drawn(make_run()), *drawn(make_run(), make_run(1), make_run(2, shift=9))]:
        assert figure.layout.xaxis.title.text and figure.layout.yaxis.title.text
        assert all(len(trace.x) == len(trace.y) > 0 for trace in figure.data)


@pytest.mark.parametrize(("last", "step"), [(2, 1), (8, 1), (9, 2), (30, 5), (300, 50)])
def test_iterations_have_whole_ticks(last: int, step: int) -> None:
    curve = Curve("a", [Point(0, 1.0, 1.0, 1.0), Point(last, 2.0, 2.0, 2.0)])
    axis = line_chart("t", "n", "a", [curve]).layout["xaxis"]
    assert (axis["tick0"], axis["dtick"]) == (0, step)


def test_a_role_has_one_colour_everywhere() -> None:
    found: dict[str, set[str]] = {}
    for chart in charts(experiments([make_run()])):
        for trace in chart.data:
            if trace.get("name") in ("tool", "planner") and trace["type"] == "scatter":
                found.setdefault(trace["name"], set()).add(trace["line"]["color"])
    assert [len(found[name]) for name in ("tool", "planner")] == [1, 1]
    assert found["tool"] != found["planner"]


def test_the_band_of_one_run_is_its_interval() -> None:
    band, line = charts(experiments([make_run()]))[0].data[:2]
    assert max(band["y"]) == pytest.approx(100 * (make_iteration(10).high or 0))
    assert min(band["y"]) == pytest.approx(100 * (make_iteration(0).low or 0))
    assert line["y"][10] == pytest.approx(93.5)


def test_the_page_needs_no_network() -> None:
    page = html_report(make_run())
    assert "Plotly.react" in page and "default-src 'none'" in page
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", body_of(page) + page[-20000:])


def test_text_is_escaped() -> None:
    verdict = {"promoted": False, "reasons": [EVIL]}
    rows = [make_iteration(0, step_s={EVIL: 1.0})]
    page = html_report(make_summary(run=EVIL, verdict=verdict, rows=rows))
    assert EVIL not in page
    assert page.count("&lt;script&gt;window.hit=1&lt;/script&gt;") >= 3
    assert "refused" in page


def test_an_empty_run_and_an_unasked_verdict() -> None:
    page = html_report(make_summary(rows=[], final={}, verdict=None))
    assert "no committed iteration" in page and "not asked" in page
    assert len(page) < 10_000


def test_a_run_that_was_never_evaluated() -> None:
    row = make_iteration(1, success=None, low=None, high=None, turns_mean=None, held_out={})
    page = html_report(make_summary(rows=[row], final={}))
    assert "No team of this run was evaluated." in page and "Reward per role" in page


def test_several_runs_with_links_to_their_episodes() -> None:
    runs = [make_run(seed) for seed in (0, 1)] + [make_run(0, rollout={"num_candidates": 8})]
    text = body_of(report(runs, Hardware(), {runs[0].run: "../runs/x/episodes.html"}))
    assert "3 runs of 2 experiments" in text
    assert '<a href="../runs/x/episodes.html">its episodes</a>' in text
    assert re.search(r"<h2[^>]*>Settings that differ", text) and "rollout.num_candidates" in text
    assert "Promotion" not in text


@pytest.mark.parametrize(
    ("runs", "title", "seeds"),
    [((0, 1), "quickstart: 2 runs of 1 experiment", "seeds 0, 1."),
     ((0, -1), "quickstart: 2 runs of 2 experiments", "seed 0;")],
)  # fmt: skip
def test_one_is_no_plural(runs: tuple[int, int], title: str, seeds: str) -> None:
    """A negative one stands for the same seed with other settings."""
    made = [make_run(0, rollout={"num_turns": 1}) if n < 0 else make_run(n) for n in runs]
    text = body_of(report(made))
    assert f"<h1>{title}</h1>" in text
    assert seeds in text and "seeds 0;" not in text


def test_settings_of_one_are_no_plural() -> None:
    text = body_of(report([make_run(rollout={"num_turns": 1, "num_tasks": 1})]))
    assert "1 task, " in text and "at most 1 turn;" in text and "seed 0." in text


def test_what_rounding_leaves_is_no_number() -> None:
    """Two roads to the same height, one the other's mirror: the mean of both is 0 throughout."""
    runs = []
    for seed, rewards in enumerate(((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))):
        rows = [
            make_iteration(i, metrics={"rollout/tool/reward/mean": reward})
            for i, reward in enumerate(rewards, 1)
        ]
        runs.append(replace(make_run(seed), rows=rows))
    (chart,) = (c for c in charts(experiments(runs)) if c.title.startswith("Standardised"))
    assert [row[2] for row in chart.body] == ["0", "0", "0"]
    assert chart.data[-1]["y"] == [0.0, 0.0, 0.0]
    assert [number(value) for value in (-0.0, -1e-17, 5e-8)] == ["0", "0", "5e-08"]


def test_figures_are_drawn_in_both_themes_without_a_request(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    final = {"validation": make_result(187), "validation/swapped": make_result(9)}
    path.write_text(html_report(replace(make_run(), run=EVIL, final=final)))
    ink = {}
    for dark, width in ((False, 1280), (True, 390)):
        page.open(path.as_uri(), width, 900, dark=dark)
        page.wait("document.querySelectorAll('.figure .main-svg').length >= 10")
        assert page.seen == [{"request": path.as_uri()}]
        assert page.value("window.hit === undefined")
        assert page.value("document.documentElement.scrollWidth") == width  # nothing sticks out
        script = "getComputedStyle(document.querySelector('.figure .xtitle')).fill"
        ink[dark] = page.value(script)
    assert ink[False] != ink[True]
    labels = page.value(
        "[...document.querySelectorAll('.figure')].map((n) => n.getAttribute('aria-label'))"
    )
    assert labels[0].startswith("Line chart, Success, in solved tasks, %: team from 6 to 93.5")


def test_a_run_that_a_budget_ends_has_no_number_of_iterations_to_make() -> None:
    run = make_run()
    budgeted = replace(run, config=run.config.model_copy(update={"iterations": OPEN_ENDED}))
    assert f", {run.rows[-1].iteration} iterations, success" in body_of(html_report(budgeted))
