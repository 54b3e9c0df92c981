"""Whole iterations of small teams: shared policies, adapters, frozen policies, three roles.

Policies of their own are in test_quickstart.py.
"""

from pathlib import Path
from typing import Any

import pytest

from components import records
from components.policies import PolicyRef
from components.records import Scored
from tests.e2e.workplace import SCRATCH, Workplace, words_experiment

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
LORA: dict[str, Any] = SCRATCH | {"lora": {"r": 2, "alpha": 4}}
FROZEN: dict[str, Any] = SCRATCH | {"trainable": False}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    monkeypatch.chdir(tmp_path)
    return Workplace(tmp_path)


def train(place: Workplace, **experiment: Any) -> tuple[dict[str, PolicyRef], dict[str, PolicyRef]]:
    """Policies before and after one iteration."""
    place.write(words_experiment(**experiment))
    assert place.call("run", "--name", "r", "--runner", "inprocess") == 0
    return place.state("r", 0).policies, place.state("r", 1).policies


def changed(before: dict[str, PolicyRef], after: dict[str, PolicyRef]) -> set[str]:
    assert set(before) == set(after)
    return {name for name, ref in after.items() if ref.sha256 != before[name].sha256}


def played(place: Workplace) -> list[Scored]:
    """What the iteration's rollout scored."""
    (path,) = place.folder.glob("store/runs/r/steps/000001/rollout/*/scored")
    return records.read_rows(path, Scored)


def test_two_roles_share_one_policy(place: Workplace) -> None:
    before, after = train(place, roles={"first": "solo", "second": "solo"})
    assert changed(before, after) == {"solo"}
    assert {row.candidate.policy_version for row in played(place)} == {before["solo"].tag}


def test_adapters_on_one_base_that_stays(place: Workplace) -> None:
    roles = {"first": "a", "second": "b"}
    before, after = train(place, roles=roles, policies={"a": LORA, "b": LORA})
    assert changed(before, after) == {"a", "b"}
    bases = [ref.base for ref in (*before.values(), *after.values())]
    assert all(base is not None for base in bases)
    assert len({base.sha256 for base in bases if base}) == 1
    assert set(place.state("r", 1).optimizers) == {"a", "b"}


def test_a_frozen_role_stays(place: Workplace) -> None:
    roles = {"first": "a", "second": "b"}
    before, after = train(place, roles=roles, policies={"a": SCRATCH, "b": FROZEN})
    assert changed(before, after) == {"a"}
    assert set(place.state("r", 1).optimizers) == {"a"}


@pytest.mark.parametrize("order", ["serial", "parallel"])
@pytest.mark.parametrize("placement", ["fused", pytest.param("staged", marks=pytest.mark.full)])
def test_three_roles_of_which_two_share(place: Workplace, order: str, placement: str) -> None:
    roles = {"first": "a", "second": "b", "third": "a"}
    env = {
        "name": "tests.doubles.words:make_words",
        "options": {"roles": list(roles), "order": order},
    }
    rollout = words_experiment(roles)["rollout"] | {"placement": placement}
    before, after = train(place, roles=roles, env=env, rollout=rollout)
    assert changed(before, after) == {"a", "b"}
    (path,) = place.folder.glob("store/runs/r/steps/000001/group/*/samples")
    samples = records.read_rows(path, records.Sample)
    rows = [sample.scored for sample in samples]
    assert {row.candidate.turn.role for row in rows} == set(roles)
    assert_prompts_show_the_picks(rows, list(roles), order)


def assert_prompts_show_the_picks(rows: list[Scored], roles: list[str], order: str) -> None:
    """Every prompt ends with what was executed before it, and with nothing else."""
    episode = [
        row for row in rows if row.candidate.turn.episode_id == rows[0].candidate.turn.episode_id
    ]
    log: list[str] = []
    for turn in range(max(row.candidate.turn.turn for row in episode) + 1):
        at_start = list(log)
        for role in roles:
            mine = [
                r for r in episode if (r.candidate.turn.turn, r.candidate.turn.role) == (turn, role)
            ]
            shown = {r.candidate.turn.messages[0]["content"].partition(" log")[2] for r in mine}
            assert shown <= {"".join(f" {w}" for w in (log if order == "serial" else at_start))}
            picked = [row.candidate.text for row in mine if row.chosen]
            words = [w for w in picked[0].split() if w in "abcdefgh"] if picked else []
            log += [role, words[0] if words else "a"] if picked else []
