"""The step as a pipeline runs it."""

import json
from dataclasses import replace

import pytest

from components import records
from components.errors import ConfigError, RecordError
from components.grouping.main import group
from components.records import Sample, Scored
from tests.components.grouping.scored_rows import make_config, make_group, make_row

OUTPUTS = ("samples", "certificate", "html")
ROWS = make_group([1, 0, None, 1]) + make_group([1, 1, 1, 1], role="planner", prompt_ids=(8,))


@pytest.fixture
def run_group(tmp_path):
    def run(rows, **sections):
        config = make_config(
            storage={"uri": f"file://{tmp_path}/store", "cache": f"{tmp_path}/cache"}, **sections
        )
        records.write(tmp_path / "scored", Scored, rows)
        outputs = {name: str(tmp_path / name) for name in OUTPUTS}
        inputs = {"scored": str(tmp_path / "scored")}
        return group(config.to_json(), "probe-1", 3, inputs, outputs), tmp_path

    return run


def test_samples_are_the_scored_rows_with_three_more_columns(run_group):
    _, folder = run_group(ROWS)
    samples = records.read_rows(folder / "samples", Sample)
    assert [sample.scored for sample in samples] == records.read_rows(folder / "scored", Scored)
    assert [sample.group_id for sample in samples] == [0] * 4 + [1] * 4
    assert samples[2].advantage is None and samples[2].weight == 0


def test_metrics_per_role_and_in_all(run_group):
    metrics, _ = run_group(ROWS)
    assert metrics["grouping/tool/frac_reward_zero_std"] == 0
    assert metrics["grouping/planner/frac_reward_zero_std"] == 1
    assert metrics["grouping/num_groups"] == 2
    assert metrics["grouping/num_failed"] == metrics["grouping/tool/num_failed"] == 1
    assert metrics["grouping/num_violations"] == 0


def test_certificate_and_page_are_written(run_group, capsys):
    _, folder = run_group([*make_group([1, 0, 1]), make_row(0, 3, temperature=1.5)])
    certificate = json.loads((folder / "certificate").read_text())
    assert (certificate["run"], certificate["iteration"]) == ("probe-1", 3)
    assert len(certificate["violations"]) == 1
    assert "violation: group 0" in capsys.readouterr().err
    assert "1 violation" in (folder / "html").read_text()


def test_an_empty_table_is_named(run_group, tmp_path):
    with pytest.raises(RecordError, match=f"{tmp_path}/scored: scored has no rows"):
        run_group([])


def test_a_tree_group_of_one_stops_the_step(run_group):
    with pytest.raises(RecordError, match="has 1 sample and no baseline"):
        run_group([make_row()])


def test_a_row_of_another_policy_stops_the_step(run_group):
    with pytest.raises(RecordError, match="samples of role 'tool' name policy 'planner'"):
        run_group(make_group([1, 0], policy="planner"))


def test_credit_may_be_the_whole_episodes(run_group):
    """Two episodes of two answers each, and a third whose second generation failed."""
    rows = [
        make_row(team, episode_id=f"X#{episode}", role=role)
        for episode, teams in enumerate([(0.5, 1.0), (0.25, -0.5), (1.0, None)])
        for role, team in zip(("tool", "planner"), teams, strict=True)
    ]
    rows = [  # a local part, which is not the team's
        row if row.reward is None or row.reward_parts is None
        else replace(row, reward=row.reward + 3.0, reward_parts=row.reward_parts | {"local/a": 3.0})
        for row in rows
    ]  # fmt: skip
    whole = {"key": ["task"], "allow_impure": True, "credit": "episode", "std_ddof": None}
    _, folder = run_group(rows, grouping=whole, rollout={"sampling": "parallel"})
    samples = records.read_rows(folder / "samples", Sample)
    returns = [1.5, 1.5, -0.25, -0.25, 1.0, None]
    assert [sample.scored.reward for sample in samples] == returns
    mean = sum(value for value in returns if value is not None) / 5
    assert [sample.advantage for sample in samples] == pytest.approx(
        [None if value is None else value - mean for value in returns]
    )
    own = records.read_rows(folder / "scored", Scored)
    assert [row.reward for row in own] == [3.5, 4.0, 3.25, 2.5, 4.0, None]


def test_credit_of_an_episode_needs_episodes():
    with pytest.raises(ConfigError, match=r"grouping\.credit is 'episode' and .*tree"):
        make_config(grouping={"credit": "episode"})
