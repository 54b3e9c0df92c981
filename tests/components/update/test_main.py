"""The step: certificate and versions checked, roles routed, references written."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import ConfigError, RecordError
from components.step import load_manifest
from components.update.main import committed_key, step_name
from tests.components.update.tiny import make_rows
from tests.components.update.world import World, make_config

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]


def test_two_roles_train_the_policy_they_share(folder: Path, tmp_path: Path) -> None:
    world = World(tmp_path, folder, {"tool": "solo", "planner": "solo"})
    tag = world.refs["solo"].tag
    rows = make_rows(folder, 2, role="tool", version=tag)
    rows += make_rows(folder, 3, role="planner", version=tag, seed=4)
    world.samples(rows)
    found = world.run()
    assert found["update/solo/num_samples"] == 20
    assert found["update/solo/num_tokens"] == sum(
        len(row.scored.candidate.completion_ids) for row in rows
    )
    policies, optimizers = world.result()
    assert policies["solo"].version == 1 and policies["solo"].sha256 != world.refs["solo"].sha256
    key = committed_key(world.config.to_json(), "r", 1, world.inputs)
    assert load_manifest(world.store, key).step == "update"
    world.refs, before = policies, found["update/solo/logprob_mismatch"]
    world.state(1, optimizers)
    world.samples(make_rows(folder, 2, version=policies["solo"].tag))
    second = world.run(2)
    assert second["update/solo/logprob_mismatch"] > before
    assert world.result()[0]["solo"].version == 2


def test_each_policy_learns_from_its_own_samples_alone(folder: Path, tmp_path: Path) -> None:
    world = World(tmp_path, folder, {"tool": "a", "planner": "b"})
    of_a = make_rows(folder, 2, policy="a", version=world.refs["a"].tag)
    of_b = make_rows(folder, 2, policy="b", version=world.refs["b"].tag, seed=4)
    world.samples(of_a + of_b)
    world.run()
    together, _ = world.result()
    assert together["a"].sha256 != together["b"].sha256
    found = world.run(policies=("b",))
    assert {name.split("/")[1] for name in found if name.startswith("update/")} == {"b"}
    assert "system/update-b/cpu_s" in found
    assert world.result()[0] == {"b": together["b"]}


def test_a_policy_without_a_live_sample_keeps_its_weights(folder: Path, tmp_path: Path) -> None:
    world = World(tmp_path, folder, {"tool": "solo"})
    rows = make_rows(folder, 1, version=world.refs["solo"].tag, weight=0.0)
    world.samples(rows)
    found = world.run()
    assert found["update/solo/num_samples"] == 0
    assert world.result() == ({"solo": world.refs["solo"]}, {})


def test_a_policy_that_did_not_play_keeps_its_weights(folder: Path, tmp_path: Path) -> None:
    world = World(tmp_path, folder, {"tool": "a", "planner": "b"})
    world.samples(make_rows(folder, 2, policy="a", version=world.refs["a"].tag))
    found = world.run()
    assert found["update/a/num_samples"] > 0 and found["update/b/num_samples"] == 0
    assert world.result()[0]["b"] == world.refs["b"]


def test_violations_stop_the_update(folder: Path, tmp_path: Path) -> None:
    world = World(tmp_path, folder, {"tool": "solo"})
    world.samples(make_rows(folder, 1))
    world.violations(["group 3 mixes prompts"])
    with pytest.raises(RecordError, match="1 violations, .* group 3 mixes prompts"):
        world.run()


def test_other_faults_are_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path, folder, {"tool": "solo"})
    world.samples(make_rows(folder, 1, version="solo@9-abc"))
    with pytest.raises(RecordError, match="'solo@9-abc', but 'solo@0-"):
        world.run()
    world.samples([])
    with pytest.raises(RecordError, match=r"no rows at all, expected those of \['solo'\]"):
        world.run()
    world.samples([replace(row, advantage=None) for row in make_rows(folder, 1)])
    with pytest.raises(ConfigError, match="policy 'nobody' is not trainable"):
        world.run(policies=("nobody",))
    assert capsys.readouterr().err.count("error: update") == 3


def test_step_names(tmp_path: Path) -> None:
    config = make_config(tmp_path, {"tool": "a", "planner": "b"})
    assert step_name(config, ()) == step_name(config, ("a", "b")) == "update"
    assert step_name(config, ("b",)) == "update-b"
