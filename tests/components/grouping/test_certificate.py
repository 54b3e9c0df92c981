"""The certificate names each fault a group can have, and stays small and quick."""

import json
import time

import pyarrow as pa
import pytest

from components.grouping.certificate import build, rows
from components.grouping.groups import find_groups
from components.grouping.main import metrics
from components.grouping.page import render
from components.records import Scored, to_table
from components.settings import GroupingConfig, RolloutConfig
from tests.components.grouping.scored_rows import make_group, make_row

TASK_ONLY = GroupingConfig(key=["task"], allow_impure=True)


def certify(scored, grouping=None, **rollout):
    grouping = grouping or GroupingConfig()
    table = scored if isinstance(scored, pa.Table) else to_table(Scored, scored)
    groups = find_groups(table, grouping.key, grouping.std_ddof or 0)
    return build(table, groups, grouping, RolloutConfig(**{"num_candidates": 2} | rollout))


def pair(**changes):
    """A group of two whose second answer differs."""
    return [make_row(1.0), make_row(0.0, 1, **changes)]


def test_pure_groups_have_no_violations():
    certificate = certify(make_group([1, 0]) + make_group([1, 1], turn=1, prompt_ids=(1, 2, 4)))
    assert certificate["violations"] == certificate["impurities"] == []
    assert not certificate["impure"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"prompt_ids": (1, 2, 4)}, "mixes prompts"),
        ({"prompt_ids": (1, 2)}, "mixes prompts"),
        ({"prompt_ids": ()}, "mixes prompts"),
        ({"env": "sokoban"}, "mixes environments"),
        ({"policy_version": "tool@1-def"}, "mixes policy versions"),
        ({"temperature": 1.5}, "mixes sampling settings"),
        ({"top_p": 0.9}, "mixes sampling settings"),
        ({"top_k": 5}, "mixes sampling settings"),
        ({"max_new_tokens": 9}, "mixes sampling settings"),
    ],
)
def test_a_mixed_group_is_a_violation(changes, fault):
    expected = f"group 0 (task=X node= turn=0 role=tool) {fault}"
    assert certify(pair(**changes))["violations"] == [expected]


def test_no_key_excuses_mixed_environments():
    """Rewards of two games have no common scale: allow_impure does not reach that far."""
    certificate = certify(pair(env="sokoban"), TASK_ONLY)
    assert certificate["violations"] == [
        "group 0 (task=X node= turn=0 role=tool) mixes environments"
    ]


@pytest.mark.parametrize(
    ("changes", "fault"), [({"turn": 1}, "mixes turns"), ({"role": "planner"}, "mixes roles")]
)
def test_mixed_turns_and_roles_are_violations(changes, fault):
    """The key was checked when the configuration was read; the table is checked again."""
    coarse = GroupingConfig.model_construct(
        **GroupingConfig().model_dump() | {"key": ["task", "node"]}
    )
    assert any(line.endswith(fault) for line in certify(pair(**changes), coarse)["violations"])


def test_a_group_that_lost_rows_is_too_small():
    (line,) = certify(make_group([1, 0, 1]), num_candidates=4)["violations"]
    assert line.endswith("is too small, expected 4 samples, got 3")


def test_a_group_with_rows_twice_is_too_large():
    (line,) = certify(make_group([1, 0]) * 2)["violations"]
    assert line.endswith("is too large, expected 2 samples, got 4")


def test_parallel_groups_may_have_any_size():
    assert (
        certify(make_group([1, 0, 1]) + [make_row(turn=1)], sampling="parallel")["violations"] == []
    )


def test_failed_generations_are_not_compared():
    scored = [make_row(1.0), make_row(None, 1, prompt_ids=()), make_row(0.0, 2)]
    assert certify(scored, num_candidates=3)["violations"] == []


def test_a_coarser_key_is_impure_and_not_refused():
    certificate = certify(pair(turn=1, prompt_ids=(9,)), TASK_ONLY)
    assert certificate["violations"] == []
    assert certificate["impure"] and certificate["allow_impure"]
    assert [line.split(") ")[1] for line in certificate["impurities"]] == [
        "mixes prompts",
        "mixes turns",
    ]


def test_fault_5_a_coarser_key_never_excuses_another_sampler():
    (line,) = certify(pair(temperature=1.5), TASK_ONLY)["violations"]
    assert line.endswith("mixes sampling settings")


def test_allow_impure_with_the_full_key_and_pure_groups_is_pure():
    assert not certify(make_group([1, 0]), GroupingConfig(allow_impure=True))["impure"]


def test_many_violations_are_counted():
    scored = [
        row
        for turn in range(30)
        for row in (make_row(turn=turn), make_row(0, 1, turn=turn, top_k=1))
    ]
    lines = certify(scored)["violations"]
    assert len(lines) == 11
    assert lines[-1] == "20 more groups: mixes sampling settings"


def test_rows_tell_what_each_group_was():
    certificate = certify(
        make_group([1, None, 0, 1]) + make_group([None] * 4, turn=1, prompt_ids=(7,)),
        num_candidates=4,
    )
    first, second = rows(json.loads(json.dumps(certificate, allow_nan=False)))
    assert (first["size"], first["num_failed"], first["zero_variance"]) == (4, 1, 0)
    assert first["reward_mean"] == pytest.approx(2 / 3)
    assert first["reward_std"] == pytest.approx(0.57735, abs=1e-5)
    assert first["policy_version"] == "tool@0-abc"
    assert first["sampling"]["temperature"] == 1.0
    assert len(first["prompt_sha256"]) == 16 and first["prompt_sha256"] != second["prompt_sha256"]
    assert (second["reward_mean"], second["reward_std"], second["zero_variance"]) == (None, 0, 1)


def test_totals_per_role():
    scored = (
        make_group([1, 1]) + make_group([1, 0], turn=1) + make_group([None, 0.5], role="planner")
    )
    totals = certify(scored)["totals"]
    assert list(totals) == ["tool", "planner"]
    assert (totals["tool"]["num_groups"], totals["tool"]["frac_reward_zero_std"]) == (2, 0.5)
    assert totals["tool"]["reward_mean"] == pytest.approx(0.75)
    assert (totals["planner"]["num_failed"], totals["planner"]["num_starved"]) == (1, 1)
    assert totals["planner"]["reward_mean"] == 0.5


def test_the_page_escapes_what_it_shows():
    certificate = certify(make_group([1], task_id="<script>alert(1)</script>"))
    page = render(certificate, "<b>run</b>", 3)
    assert "<script" not in page and "<b>run" not in page
    assert "&lt;script&gt;" in page and "1 violation: no update" in page


def test_65536_samples_in_seconds_and_a_few_megabytes():
    scored = [
        row
        for task in range(1024)
        for row in make_group(
            [0, 1, 0, 1], task_id=f"plan_path/train/0/{task}", prompt_ids=tuple(range(100))
        )
    ]
    table = pa.concat_tables([to_table(Scored, scored)] * 16).combine_chunks()
    turns = pa.array([turn for turn in range(16) for _ in scored], pa.int64())
    table = table.set_column(table.column_names.index("turn"), table.schema.field("turn"), turns)
    started = time.process_time()
    certificate = certify(table, num_candidates=4)
    assert time.process_time() - started < 4.0
    assert len(certificate["groups"]["size"]) == 16384 and not certificate["violations"]
    assert len(json.dumps(certificate, separators=(",", ":"))) < 4e6


def test_totals_of_several_environments_stand_apart():
    boxes = make_group([1, 1], env="sokoban", task_id="Y", episode_id="Y")
    certificate = certify(make_group([1, 0]) + boxes)
    assert certificate["violations"] == []
    found = certificate["totals_by_environment"]
    assert found["sokoban"]["tool"]["frac_reward_zero_std"] == 1.0
    assert found["plan_path"]["tool"]["frac_reward_zero_std"] == 0.0
    assert certificate["totals"]["tool"]["frac_reward_zero_std"] == 0.5
    assert metrics(certificate)["grouping/sokoban/frac_reward_zero_std/tool"] == 1.0
    assert "totals_by_environment" not in certify(make_group([1, 0]))
