"""The next state: what an update replaces, what it must not leave out."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from components.commit.merge import next_state
from components.errors import ConfigError, PolicyError
from components.policies import FolderRef, PolicyRef
from components.state import TrainingState
from tests.doubles.experiment import content, make_config, make_policy

CONFIG = make_config()


def make_state(config: Any = CONFIG, **changes: Any) -> TrainingState:
    initial = {name: make_policy(name) for name in ("tool", "plan")}
    old = {name: FolderRef("file://store/optimizers/old", "0" * 64, 7) for name in initial}
    state = TrainingState("r", 2, config.digest(), initial, old, initial, 8, {"id": "x"})
    return replace(state, **changes)


def make_result(*policies: PolicyRef) -> dict[str, Any]:
    optimizer = FolderRef("file://store/optimizers/new", "1" * 64, 7)
    return {
        "policies": {policy.name: policy.to_json() for policy in policies},
        "optimizers": {policy.name: asdict(optimizer) for policy in policies},
    }


BOTH = (make_policy("tool", 3), make_policy("plan", 3, base=make_policy("base")))


@pytest.mark.parametrize(
    "results", [[make_result(*BOTH)], [make_result(BOTH[0]), make_result(BOTH[1])]]
)
def test_one_update_task_or_one_per_policy_gives_the_same_state(results: Any) -> None:
    state = next_state(make_state(), CONFIG, 3, results)
    assert state.policies == {policy.name: policy for policy in BOTH}
    assert {ref.sha256 for ref in state.optimizers.values()} == {"1" * 64}
    assert (state.iteration, state.next_task, state.mlflow) == (3, 12, {"id": "x"})
    assert state.initial == make_state().initial


def test_frozen_policies_stay() -> None:
    policies = content()["policies"]
    config = make_config(policies=policies | {"plan": {"base": "file://plan", "trainable": False}})
    state = next_state(make_state(config), config, 3, [make_result(BOTH[0])])
    assert state.policies == {"tool": BOTH[0], "plan": make_policy("plan")}


def test_a_policy_may_come_back_unchanged() -> None:
    result = make_result(BOTH[0], make_policy("plan"))
    assert next_state(make_state(), CONFIG, 3, [result]).policies["plan"] == make_policy("plan")


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([], r"policies updated: \[\]; expected each of \['plan', 'tool'\] once"),
        ([make_result(BOTH[0])], r"updated: \['tool'\]"),
        ([make_result(*BOTH), make_result(BOTH[0])], r"updated: \['plan', 'tool', 'tool'\]"),
        ([make_result(*BOTH, make_policy("stranger", 3))], "stranger"),
        ([make_result(BOTH[0], make_policy("plan", 2))], "'plan': version 2, expected 3"),
    ],
)
def test_incomplete_updates_are_refused(results: Any, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        next_state(make_state(), CONFIG, 3, results)


def test_a_state_of_another_iteration_or_configuration_is_refused() -> None:
    with pytest.raises(ConfigError, match="state given is of iteration 2, expected 3"):
        next_state(make_state(), CONFIG, 4, [make_result(*BOTH)])
    with pytest.raises(ConfigError, match="state given is of configuration"):
        next_state(make_state(), make_config(seed=1), 3, [make_result(*BOTH)])
