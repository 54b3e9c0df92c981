"""The text table: what stands in which column, whatever the numbers."""

from components.config import parse_config
from components.reporting.table import policy_lines, text_table
from tests.components.reporting.made_up import make_iteration, make_result, make_summary


def test_one_line_per_iteration_then_the_swapped_team():
    lines = text_table(make_summary()).splitlines()
    assert [line.split()[0] for line in lines] == ["iteration", *map(str, range(11)), "swapped"]
    assert "4.5 %" in lines[-1] and "2.4 - 8.3" in lines[-1]


def test_columns_line_up():
    lines = text_table(make_summary()).splitlines()
    ends = {line.index(" %") for line in lines[1:]}
    assert len(ends) == 1


def test_a_row_holds_success_interval_turns_rewards_and_seconds():
    row = make_iteration(
        3, success=0.5, low=0.4, high=0.6, turns_mean=2.0, reward={"planner": 1.25, "tool": -0.5},
        step_s={"rollout": 1.26, "update": 10.0},
    )  # fmt: skip
    lines = text_table(make_summary(rows=[row], final={})).splitlines()
    assert lines[0].split() == [
        "iteration", "success", "95%", "interval", "turns", "r(tool)", "r(planner)", "steps",
    ]  # fmt: skip
    assert lines[1].split() == [
        "3", "50.0", "%", "40.0", "-", "60.0", "2.00", "-0.500", "1.250", "rollout", "1.3s",
        "update", "10.0s",
    ]  # fmt: skip


def test_each_of_several_environments_has_a_column():
    config = make_summary().config.model_dump(mode="json", exclude={"env"})
    config = parse_config(config | {"envs": {"plan_path": {}, "sokoban": {}}})
    parts = {"validation/plan_path": make_result(100), "validation/sokoban": make_result(20)}
    final = {"validation/swapped": make_result(9), "validation/swapped/sokoban": make_result(4)}
    row = make_iteration(3, held_out=parts)
    lines = text_table(make_summary(rows=[row], final=final, config=config)).splitlines()
    assert lines[0].split()[4:7] == ["plan_path", "sokoban", "turns"]
    assert "50.0 %   10.0 %" in lines[1]
    assert lines[2].split()[6:10] == ["-", "2.0", "%", "1.50"]


def test_what_was_not_measured_is_a_dash():
    row = make_iteration(
        1, success=None, low=None, high=None, turns_mean=None, reward={}, step_s={}
    )
    lines = text_table(make_summary(rows=[row], final={})).splitlines()
    assert lines[1].split() == ["1", *["-"] * 6]


def test_an_empty_run_is_a_sentence():
    assert text_table(make_summary(rows=[])) == "run quickstart-1a2b3c4d: no committed iteration"


def test_each_updated_policy_has_a_line_about_its_last_update():
    metrics = {
        "grouping/tool/num_groups": 10.0, "grouping/tool/frac_reward_zero_std": 0.2,
        "update/tool/num_samples": 40.0, "update/tool/weights_changed": 0.1234,
        "update/tool/weights_norm": 31.4159, "update/tool/logprob_mismatch": 0.0151,
    }  # fmt: skip
    rows = [make_iteration(1), make_iteration(2, metrics=metrics)]
    assert policy_lines(make_summary(rows=rows)) == [
        "tool: 40 samples, 10 groups as tool, 20.0 % without variance; weights changed by 0.123 "
        "of 31.42 (norms); log-prob mismatch 0.015"
    ]


def test_no_update_no_lines():
    assert policy_lines(make_summary(rows=[])) == []
    assert policy_lines(make_summary(rows=[make_iteration(0)])) == []


def test_a_policy_without_signal_is_named() -> None:
    rows = [make_iteration(1, metrics={"update/tool/num_samples": 0.0})]
    (line,) = policy_lines(make_summary(rows=rows))
    assert line.startswith("tool: no samples with a signal") and line.endswith("unchanged")
