"""The configuration: what is refused, in words that name the key."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import MAX_BYTES, load_config, parse_config
from components.errors import ConfigError
from tests.doubles.experiment import content, make_config


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content()))
    return path


def test_the_resolved_configuration_is_a_fixed_point() -> None:
    config = make_config()
    assert parse_config(config.to_json()) == config
    assert parse_config(config.to_json()).digest() == config.digest()


def test_the_digest_leaves_out_how_far_and_where_alone() -> None:
    config = make_config()
    assert make_config(storage={"uri": "file://elsewhere"}).digest() == config.digest()
    assert make_config(tracking={"num_traces": 0}).digest() == config.digest()
    assert make_config(iterations=99).digest() == config.digest()
    rollout = content()["rollout"]
    assert make_config(rollout=rollout | {"env_workers": 3}).digest() == config.digest()
    assert make_config(rollout=rollout | {"num_turns": 3}).digest() != config.digest()
    assert make_config(seed=1).digest() != config.digest()
    assert make_config(evaluation={"num_tasks": 3}).digest() != config.digest()


def test_a_default_that_is_written_down_changes_no_digest() -> None:
    rollout = content()["rollout"]
    named = make_config(rollout=rollout | {"alpha": 1.0, "env_workers": "auto"}, update={})
    assert named.digest() == make_config().digest()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"color": 1}, "color: unknown key"),
        ({"storage": {"uri": "build/store"}}, "storage.uri 'build/store': expected file://folder"),
        ({"tracking": {"uri": "mlflow.db"}}, "tracking.uri 'mlflow.db': expected an MLflow server"),
        ({"rollout": {"alpha": float("nan")}}, "rollout.alpha: Input should be a finite number"),
        ({"update": {"learning_rate": float("inf")}}, "update.learning_rate: Input should be a f"),
        ({"update": {"weight_decay": -1}}, "update.weight_decay: Input should be greater than or"),
        ({"update": {"adam_eps": 0}}, "update.adam_eps: Input should be greater than 0"),
        ({"update": {"betas": [0.9, 1.0]}}, "update.betas.1: Input should be less than 1"),
        ({"rollout": {"num_candidate": 4}}, "rollout.num_candidate: unknown key"),
        ({"env": {}}, "env.name: missing"),
        ({"name": "Tiny Team"}, "name: String should match pattern .*, got 'Tiny Team'"),
        ({"roles": {"planner": "plann"}}, r"roles.planner is 'plann'; expected one of \['plan'"),
        ({"roles": {"planner": "plan"}}, r"policies \['tool'\] are played by no role"),
        ({"roles": {}}, "roles: .*at least 1 item"),
        ({"rollout": {"num_candidates": 1}}, "num_candidates is 1: a group of one has no baseline"),
        ({"rollout": {"num_tasks": True}}, "rollout.num_tasks: .* valid integer, got True"),
        ({"seed": 2**32}, "seed: .*, got 4294967296"),
        ({"grouping": {"key": ["task", "task", "node", "turn", "role"]}}, "names a part twice"),
        ({"promotion": {"team": "a/b"}}, "promotion.team: .* pattern .*, got 'a/b'"),
        ({"rollout": {"num_candidates": 0}}, "rollout.num_candidates: .*, got 0"),
        ({"rollout": {"beam": 5}}, "beam 5 keeps more than num_candidates 4"),
        ({"rollout": {"sampling": "parallel", "beam": 2}}, "beam 2 needs `sampling: tree`"),
        ({"rollout": {"temperature": 0}}, "rollout.temperature: .*greater than 0, got 0"),
        ({"grouping": {"key": ["task"]}}, r"leaves out .*'role'\]: needs `allow_impure: true`"),
        ({"update": {"zero_stage": 0, "dtype": "bfloat16"}}, "zero_stage 0 with bfloat16"),
        ({"seed": -1}, "seed: .*greater than or equal to 0, got -1"),
    ],
)
def test_a_wrong_value_is_one_line_with_its_key(changes: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        make_config(**changes)
    assert len(str(caught.value).splitlines()) == 1


def test_every_fault_has_a_line() -> None:
    with pytest.raises(ConfigError) as caught:
        make_config(color=1, seed=-1)
    assert len(str(caught.value).splitlines()) == 2


def test_nothing_to_train_is_refused() -> None:
    frozen = {"base": "file://x", "trainable": False}
    with pytest.raises(ConfigError, match="no policy is trainable"):
        make_config(policies={"tool": frozen, "plan": frozen})


def test_bases_have_a_known_scheme() -> None:
    policies = content()["policies"] | {"plan": {"base": "gpt"}}
    with pytest.raises(ConfigError, match="policies.plan: base 'gpt' has no known scheme"):
        make_config(policies=policies)


def test_a_large_configuration_is_refused() -> None:
    with pytest.raises(ConfigError, match=rf"has \d+ bytes, expected at most {MAX_BYTES}"):
        make_config(env={"name": "x", "options": {"text": "x" * MAX_BYTES}})


def test_the_largest_configuration_is_taken() -> None:
    text = "x" * (MAX_BYTES - len(_with_text("").to_json()))
    assert len(_with_text(text).to_json()) == MAX_BYTES


def test_frozen_policies_are_not_trainable() -> None:
    policies = content()["policies"] | {"plan": {"base": "file://plan", "trainable": False}}
    assert make_config(policies=policies).trainable == ["tool"]


def test_overrides_are_yaml_at_dotted_keys(path: Path) -> None:
    config = load_config(
        path, ["rollout.num_candidates=8", "tracking.uri=null", "env.options.sizes=[4, 5]"]
    )
    assert config.rollout.num_candidates == 8
    assert config.rollout.num_tasks == 4
    assert config.tracking.uri is None
    assert config.env.options == {"sizes": [4, 5]}


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("seed", "--set 'seed': expected key.subkey=value"),
        ("=3", "--set '=3': expected key.subkey=value"),
        ("seed.x=3", "'seed' is a value, not a section"),
        ("name.x.y=3", "'name' is a value, not a section"),
        ("rollout.x=3", "rollout.x: unknown key"),
        ("env.options=[", "--set 'env.options=\\[': not YAML"),
    ],
)
def test_a_wrong_override_is_named(path: Path, override: str, words: str) -> None:
    path.write_text(yaml.safe_dump(content(seed=1)))
    with pytest.raises(ConfigError, match=words):
        load_config(path, [override])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML"),
        ("- a", "expected a mapping of keys at the top, got list"),
        ("", "got Non"),
    ],
)
def test_a_file_that_is_no_configuration_is_named(path: Path, text: str, words: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"{path}: .*{words}") as caught:
        load_config(path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="gone: cannot be read: No such file"):
        load_config(tmp_path / "gone")


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_json_that_is_no_configuration_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="configuration: "):
        parse_config(text)


def test_the_configuration_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        make_config().seed = 3  # type: ignore[misc]


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    backwards = dict(reversed(json.loads(make_config().to_json()).items()))
    assert parse_config(backwards).digest() == make_config().digest()


def _with_text(text: str) -> Any:
    return make_config(env={"name": "x", "options": {"text": text}})


@pytest.mark.parametrize(
    ("init", "words"),
    [
        ({"num_heads": 4, "num_kv_heads": 3}, "no multiple"),
        ({"head_dim": 34}, "32, 64 or 128"),
        ({"max_position_embeddings": 256}, "max_new_tokens 256 leaves no room for a prompt"),
    ],
)
def test_shapes_that_no_engine_has(init: dict[str, int], words: str) -> None:
    content = make_config().model_dump(mode="json")
    content["policies"] = {"solo": {"base": "init://", "init": init}}
    content["roles"] = {"tool": "solo"}
    with pytest.raises(ConfigError, match=words):
        parse_config(content)
