"""A run's rows from the manifests that real steps commit."""

import pytest

from components.reporting.sections import final_evaluation, verdict
from components.reporting.summary import collect, series
from components.reporting.table import text_table
from components.state import TrainingState, write_state
from components.step import run_step
from components.storage import open_store
from tests.components.reporting.made_up import make_summary

RUN = "probe-1"


@pytest.fixture
def world(tmp_path):
    """(config, store, step): `step(name, iteration, metrics, ...)` commits a step."""
    settings = {"uri": f"file://{tmp_path}/store", "cache": f"{tmp_path}/cache"}
    base = make_summary().config
    config = base.model_copy(update={"storage": base.storage.model_copy(update=settings)})
    store = open_store(config.storage)

    def step(name, iteration, metrics=None, text="{}", extra=None, output="verdict", inputs=None):
        path = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"

        def compute(_):
            path.write_text(text)
            return metrics or {}

        outputs = {output: str(path)}
        run_step(
            name, config.to_json(), RUN, iteration, inputs or {}, outputs, compute, extra=extra
        )
        return str(path)

    return config, store, step


def commit(store, config, iteration):
    write_state(store, TrainingState(RUN, iteration, config.digest(), {}, {}, {}, 0))


def evaluation(success, benchmark="validation", turns=2.0):
    prefix = f"evaluation/{benchmark}"
    bounds = {"success_low": success - 0.1, "success_high": success + 0.1, "turns/mean": turns}
    return {f"{prefix}/{name}": value for name, value in bounds.items()} | {
        f"{prefix}/success": success, f"{prefix}/num_tasks": 200.0,
    }  # fmt: skip


def test_a_run_without_states_has_no_rows(world):
    config, store, _ = world
    summary = collect(store, config, RUN)
    assert (list(summary.rows), summary.final, summary.verdict) == ([], {}, None)


def test_success_belongs_to_the_team_that_was_loaded(world):
    config, store, step = world
    step("initialise", 0)
    commit(store, config, 0)
    for i, success in ((1, 0.2), (2, 0.5)):
        step("rollout", i, evaluation(success) | {"rollout/tool/reward/mean": 0.1 * i})
        commit(store, config, i)
    step("evaluate", 2, evaluation(0.8) | evaluation(0.1, "validation/swapped", 4.0))
    rows = collect(store, config, RUN).rows
    assert [row.success for row in rows] == [0.2, 0.5, 0.8]
    assert [row.reward for row in rows] == [{}, {"tool": 0.1}, {"tool": 0.2}]
    assert (rows[0].low, rows[0].high, rows[0].turns_mean) == pytest.approx((0.1, 0.3, 2.0))


def test_an_iteration_that_was_not_evaluated_says_so(world):
    config, store, step = world
    commit(store, config, 0)
    step("rollout", 1, {"rollout/tool/reward/mean": 0.5})
    commit(store, config, 1)
    assert [row.success for row in collect(store, config, RUN).rows] == [None, None]


def test_the_rollout_of_an_unfinished_iteration_counts_for_the_team_before(world):
    config, store, step = world
    commit(store, config, 0)
    step("rollout", 1, evaluation(0.3))
    (row,) = collect(store, config, RUN).rows
    assert row.success == 0.3


def test_final_results_and_verdict(world, capsys):
    config, store, step = world
    commit(store, config, 0)
    step("evaluate", 0, evaluation(0.8) | evaluation(0.1, "validation/swapped"))
    step("promote", 0, text='{"promoted": false, "reasons": ["no"]}')
    summary = collect(store, config, RUN)
    assert {name: result.success for name, result in summary.final.items()} == {
        "validation": 0.8, "validation/swapped": 0.1,
    }  # fmt: skip
    assert summary.final["validation"].num_tasks == 200
    assert summary.verdict == {"promoted": False, "reasons": ["no"]}
    (key,) = (key for key in store.list(f"runs/{RUN}/steps/000000/promote/") if "verdict" in key)
    store.write(key, b"{")
    damaged = collect(store, config, RUN)
    assert damaged.verdict == {"reasons": ["its answer cannot be read"]}
    assert "<span class='pill idle'>unknown</span></h2><p>its answer" in verdict(damaged)
    assert f"promote' are left out: {store.uri}/{key}: " in capsys.readouterr().err


def test_a_later_evaluation_does_not_replace_the_one_that_was_judged(world):
    """Against another champion, say; it alone has what the judged one has not."""
    config, store, step = world
    commit(store, config, 0)
    reference = "validation/reference"
    first = evaluation(0.8) | evaluation(0.2, reference)
    judged = step("evaluate", 0, first, "first", {"champion": "a"}, "report")
    step("promote", 0, inputs={"report": judged})
    later = evaluation(0.8) | evaluation(0.8, reference) | evaluation(0.7, "test")
    step("evaluate", 0, later, "later", {"champion": "b"}, "report")
    final = {name: result.success for name, result in collect(store, config, RUN).final.items()}
    assert final == {"validation": 0.8, reference: 0.2, "test": 0.7}


def test_a_run_that_went_on_says_whose_final_evaluation_it_has(world):
    config, store, step = world
    commit(store, config, 0)
    step("evaluate", 0, evaluation(0.8) | evaluation(0.1, "validation/swapped"))
    ended = collect(store, config, RUN)
    assert (ended.final_iteration, ended.overtaken) == (0, False)
    assert text_table(ended).splitlines()[-1].startswith("  swapped")
    commit(store, config, 1)
    gone_on = collect(store, config, RUN)
    assert (gone_on.final_iteration, gone_on.overtaken) == (0, True)
    assert text_table(gone_on).splitlines()[-1].startswith("0 swapped")
    assert "; the run went on since" in final_evaluation(gone_on)
    assert "the run went on" not in final_evaluation(ended)


def test_seconds_of_repeated_steps_are_added_up(world):
    config, store, step = world
    for turn in range(3):
        step("sample_turn", 0, extra={"turn": turn})
    step("update-tool", 0)
    step("update-planner", 0)
    step("load_state", 0)
    commit(store, config, 0)
    (row,) = collect(store, config, RUN).rows
    assert list(row.step_s) == ["sample_turn", "update"]
    assert all(spent > 0 for spent in row.step_s.values())


def test_series_takes_the_middle_of_a_name():
    metrics = {
        "update/tool/kl": 0.1,
        "update/kl": 0.2,
        "rollout/tool/kl": 0.3,
        "update/a/b/kl": 0.4,
    }
    assert series(metrics, "update", "kl") == {"tool": 0.1, "a/b": 0.4}
