"""Fresh policies learn from demonstrations, side by side, and repeat to the byte."""

import json
from pathlib import Path

import pytest

from components.config import ExperimentConfig, parse_config
from components.policies import PolicyRef
from components.settings import InitConfig
from components.storage import open_store
from components.update.imitate import decayed
from components.update.initialise.scratch import write_scratch_model
from components.update.warm_start.main import _demonstrations, warm_start
from envs.registry import make_environment

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
INIT = InitConfig(hidden_size=32, intermediate_size=32, num_layers=1, num_heads=1, num_kv_heads=1)


def make_config(tmp_path: Path, steps: int = 40) -> ExperimentConfig:
    """Two trained policies and no other."""
    options = {
        "height": 5, "width": 5, "num_walls": 4, "min_distance": 2, "action_language": "cells",
        "tool": "search", "prompt_style": "compact",
    }  # fmt: skip
    policy = {"base": "init://", "init": INIT.model_dump()}
    return parse_config(
        {
            "name": "warm",
            "env": {"name": "plan_path", "options": options},
            "policies": {"tool": policy, "planner": policy},
            "roles": {"tool": "tool", "planner": "planner"},
            "warm_start": {
                "steps": steps, "batch_size": 32, "num_tasks": 100, "warmup_steps": 5,
                "learning_rate": 0.01,
            },
            "storage": {"uri": f"file://{tmp_path}/store", "cache": str(tmp_path / "cache")},
        }
    )  # fmt: skip


def initial_policies(config: ExperimentConfig, tmp_path: Path) -> dict[str, PolicyRef]:
    env = make_environment(config.env.name, config.env.options, config.env.reward)
    store, refs = open_store(config.storage), {}
    for seed, name in enumerate(config.policies):
        write_scratch_model(tmp_path / name, INIT, env.lexicon(), seed)  # type: ignore[attr-defined]
        ref = store.upload_folder(tmp_path / name)
        refs[name] = PolicyRef(name, 0, ref.uri, ref.sha256, ref.bytes)
    return refs


def test_an_environment_of_ones_own_is_demonstrated(tmp_path: Path) -> None:
    """Its name in the configuration, `module:factory`, is not the name that it has itself."""
    config = make_config(tmp_path)
    assert config.env and config.warm_start
    named = config.env.model_copy(update={"name": "envs.plan_path.environment:make_plan_path"})
    other = config.model_copy(update={"env": named})
    shown = _demonstrations(other, config.warm_start)
    assert shown == _demonstrations(config, config.warm_start) and all(shown.values())


def test_policies_learn_what_they_are_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = make_config(tmp_path)
    refs = initial_policies(config, tmp_path)
    given, made = tmp_path / "policies.json", tmp_path / "warmed.json"
    given.write_text(json.dumps({"policies": {n: r.to_json() for n, r in refs.items()}}))
    files = ({"policies": str(given)}, {"policies": str(made)})
    found = warm_start(config.to_json(), "one", 0, *files)
    first = made.read_text()
    again = warm_start(config.to_json(), "two", 0, *files)
    assert made.read_text() == first
    assert again["warm_start/tool/loss"] == found["warm_start/tool/loss"]
    content = json.loads(first)["policies"]
    for name, old in refs.items():
        new = PolicyRef.from_json(content[name])
        assert (new.name, new.version, new.base) == (name, 0, None)
        assert new.sha256 != old.sha256
        assert found[f"warm_start/{name}/num_steps"] == 40
    losses = [
        float(line.rpartition("loss=")[2])
        for line in capfd.readouterr().out.splitlines()
        if "step=warm_start-tool " in line
    ]
    assert losses[-1] < 0.75 * losses[0]


def test_learning_rate_warms_up_and_decays_to_five_percent() -> None:
    rates = [decayed(1.0, 4, 101, step) for step in range(101)]
    assert rates[:4] == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert max(rates) == 1.0 and rates[-1] == pytest.approx(0.05)
    assert rates[4:] == sorted(rates[4:], reverse=True)
