"""What a manifest pins, and that manifests of before are read."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.errors import TrackingError
from components.policies import FolderRef
from components.promotion.pins import env_pins, policy_pins
from components.storage import open_store
from components.tracking.manifest import TeamManifest, make_manifest
from tests.doubles.teams import TRACER, make_config, stored_state


def pins_of(folder: Path, iteration: int = 2, **files: str) -> Any:
    config = make_config(str(folder))
    return policy_pins(open_store(config.storage), stored_state(config, iteration, **files))


def test_tokenizer_and_template_are_apart(tmp_path: Path) -> None:
    plain = pins_of(tmp_path)["a"]
    later = pins_of(tmp_path, iteration=3)["a"]
    assert later == plain  # other weights, nothing else
    words = pins_of(tmp_path, **{"tokenizer.json": "{}"})["a"]
    assert words.tokenizer != plain.tokenizer and words.chat_template == plain.chat_template
    chat = pins_of(tmp_path, **{"chat_template.jinja": "{{ other }}"})["a"]
    assert chat.chat_template != plain.chat_template and chat.tokenizer == plain.tokenizer


def test_base_is_what_training_began_with(tmp_path: Path) -> None:
    config = make_config(str(tmp_path))
    state = stored_state(config, 2)
    pins = policy_pins(open_store(config.storage), state)
    assert pins["a"].base == state.initial["a"].sha256 != state.policies["a"].sha256


def test_an_adapter_is_pinned_by_its_base(tmp_path: Path) -> None:
    config = make_config(str(tmp_path))
    state, store = stored_state(config, 2), open_store(config.storage)
    base = state.policies["b"]
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}")
    stored: FolderRef = store.upload_folder(tmp_path / "adapter")
    ref = replace(base, name="a", uri=stored.uri, sha256=stored.sha256, base=base)
    state = replace(state, policies={**state.policies, "a": ref}, initial={"a": ref, "b": base})
    pins = policy_pins(store, state)
    assert pins["a"] == pins["b"] and pins["a"].base == base.sha256


def test_prompts_are_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(str(tmp_path))
    before = env_pins(config)
    assert env_pins(config) == before
    assert before[TRACER]["version"] == "1"
    monkeypatch.setattr(
        "tests.doubles.environments.Tracer.observe",
        lambda self, state, role: [{"role": "user", "content": "new words"}],
    )
    assert env_pins(config)[TRACER]["prompts"] != before[TRACER]["prompts"]


def test_a_role_that_cannot_begin_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observe(self: Any, state: Any, role: str) -> Any:
        if role == "B":
            raise KeyError("nothing of A yet")
        return [{"role": "user", "content": "A"}]

    monkeypatch.setattr("tests.doubles.environments.Tracer.observe", observe)
    assert len(env_pins(make_config(str(tmp_path)))[TRACER]["prompts"]) == 64


def manifest(folder: Path) -> TeamManifest:
    config = make_config(str(folder))
    state = stored_state(config, 2)
    pins = policy_pins(open_store(config.storage), state)
    return make_manifest(config, "r", 2, state.policies, pins, env_pins(config), {}, {})


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = manifest(tmp_path)
    assert TeamManifest.from_json(made.to_json()) == made
    assert made.store.uri == f"file://{tmp_path}/store"


def test_a_manifest_of_before_is_read(tmp_path: Path) -> None:
    values = json.loads(manifest(tmp_path).to_json())
    for name in ("pins", "envs", "storage"):
        del values[name]
    old = TeamManifest.from_json(json.dumps(values | {"schema_version": 1}))
    assert old.pins == {} and old.label == "r@2"
    assert old.store.uri == f"file://{tmp_path}/store"  # from where its policies are
    with pytest.raises(TrackingError, match=r"schema_version 3, expected one of \(1, 2\)"):
        TeamManifest.from_json(json.dumps(values | {"schema_version": 3}))
