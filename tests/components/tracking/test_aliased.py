"""Every alias of a real registry, with all folders behind it, whoever set it."""

from pathlib import Path

import pytest

from components.errors import TrackingError
from components.policies import PolicyRef
from components.settings import TrackingConfig
from components.tracking import aliased as module
from components.tracking.aliased import Aliased, aliased, has_registry
from components.tracking.connection import open_client
from components.tracking.manifest import TeamManifest
from components.tracking.registry import read_version
from components.tracking.whole import MANIFEST
from tests.components.tracking.stores import Tracked


def manifest_of(uri: str, base_uri: str) -> TeamManifest:
    base = PolicyRef("base", 0, base_uri, "b", 1)
    policies = {"a": PolicyRef("a", 3, uri, "a", 1, base)}
    env = {"name": "plan_path", "version": "1", "options_digest": "", "reward": "dense"}
    return TeamManifest(
        "team", "r", 3, policies, {"role": "a"}, {"a": "pkg://x"}, env, "digest", None, {}, {}, {}
    )


def test_every_alias_and_every_folder(tracked: Tracked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 1)
    settings = tracked().tracking
    client = open_client(settings)
    assert aliased(settings) == []
    tags = {
        "team": {MANIFEST: manifest_of("s3://b/policies/1", "s3://b/policies/2").to_json()},
        "team.role": {"rolewise.uri": "s3://b/policies/3", "rolewise.base_uri": "s3://b/policies/2"},
        "other": {},
    }  # fmt: skip
    for name in tags:
        client.create_registered_model(name)
        client.create_model_version(name, "s3://b/x", tags=tags[name], await_creation_for=0)
    for name in ("other", "team", "team.role"):
        client.set_registered_model_alias(name, "by_hand", "1")
    assert sorted(aliased(settings), key=lambda item: item.model) == [
        Aliased("other", "by_hand", ()),
        Aliased("team", "by_hand", ("s3://b/policies/1", "s3://b/policies/2")),
        Aliased("team.role", "by_hand", ("s3://b/policies/3", "s3://b/policies/2")),
    ]


def test_a_missing_file_is_no_registry(tracked: Tracked, tmp_path: Path) -> None:
    assert has_registry(tracked().tracking)
    assert has_registry(TrackingConfig(uri="http://127.0.0.1:1"))
    assert not has_registry(TrackingConfig(uri=f"sqlite:///{tmp_path}/none.db"))


def test_a_version_that_is_not_there_is_named(tracked: Tracked) -> None:
    settings = tracked().tracking
    with pytest.raises(
        TrackingError, match="model 'team' has no version 9 in the registry; is --tr"
    ):
        read_version(settings, "team", "9")
    open_client(settings).create_registered_model("team")
    with pytest.raises(TrackingError, match="model 'team' has no version 9 in the registry"):
        read_version(settings, "team", "9")
