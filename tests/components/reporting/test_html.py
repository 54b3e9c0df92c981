"""The page: complete, self-contained, and safe to open whatever names it shows."""

import re

from components.reporting.charts import charts
from components.reporting.html import html_report
from tests.components.reporting.made_up import make_iteration, make_summary

EVIL = "<script>alert(1)</script>"


def body_of(page):
    """The page without Plotly's own script."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_every_section_is_there():
    text = body_of(html_report(make_summary()))
    for heading in ("Promotion", "Final evaluation", "Curves", "Iterations", "Groups"):
        assert f"<h2>{heading}" in text
    assert "6.0 % → 93.5 %" in text and "policies swapped, validation" in text


def test_every_chart_has_axis_titles_and_data():
    drawn = charts(make_summary())
    assert [chart.title for chart in drawn] == [
        "Success", "Turns per episode", "Reward per role", "Groups without signal",
        "KL to the sampling policy", "Clipped tokens", "Entropy", "Gradient norm",
        "Rollout throughput", "Time per step",
    ]  # fmt: skip
    for chart in drawn:
        layout = chart.figure.layout
        assert layout.xaxis.title.text == "iteration" and layout.yaxis.title.text
        assert all(len(trace.x) == len(trace.y) > 0 for trace in chart.figure.data)


def test_a_role_has_one_colour_everywhere():
    found = {}
    for chart in charts(make_summary()):
        for trace in chart.figure.data:
            if trace.name in ("tool", "planner"):
                found.setdefault(trace.name, set()).add(trace.line.color)
    assert [len(found[name]) for name in ("tool", "planner")] == [1, 1]
    assert found["tool"] != found["planner"]


def test_the_band_is_the_interval():
    band, line = charts(make_summary())[0].figure.data[:2]
    assert max(band.y) == 100 * make_iteration(10).high
    assert min(band.y) == 100 * make_iteration(0).low
    assert line.y[10] == 93.5


def test_the_page_needs_no_network():
    page = html_report(make_summary())
    assert "Plotly.newPlot" in page
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", body_of(page) + page[-20000:])


def test_text_is_escaped():
    verdict = {"promoted": False, "reasons": [EVIL]}
    rows = [make_iteration(1, step_s={EVIL: 1.0})]
    page = html_report(make_summary(run=EVIL, verdict=verdict, rows=rows))
    assert EVIL not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 3
    assert "refused" in page


def test_an_empty_run_and_an_unasked_verdict():
    page = html_report(make_summary(rows=[], final={}, verdict=None))
    assert "no committed iteration" in page and "not asked" in page
    assert len(page) < 10_000


def test_a_run_that_was_never_evaluated():
    row = make_iteration(1, success=None, low=None, high=None, turns_mean=None)
    page = html_report(make_summary(rows=[row], final={}))
    assert "No team of this run was evaluated." in page and "Reward per role" in page
