"""The export to Kubeflow's Model Registry, against a stand-in that holds calls to its document."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from components.errors import TrackingError
from components.tracking import kubeflow
from components.tracking.export import export
from components.tracking.kubeflow import ModelRegistry
from components.tracking.manifest import PolicyPin, TeamManifest, make_manifest
from tests.doubles.model_registry import Refused, Registry, serving
from tests.doubles.teams import make_config, make_ref, make_state


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving(Registry()) as served:
        yield served


def manifest(iteration: int) -> TeamManifest:
    config = make_config("/nowhere")
    state = make_state(config, iteration)
    env = {"name": "e", "version": "1", "options_digest": "d", "reward": "dense", "prompts": "p"}
    pins = dict.fromkeys(state.policies, PolicyPin("b", "t", "c"))
    evaluation = {"validation/success": 0.9, "validation/num_tasks": 10.0}
    made = make_manifest(config, "r", iteration, state.policies, pins, {"e": env}, evaluation, {})
    return replace(made, versions={"traced.A": "1", "traced.B": "1", "traced": "1"})


def test_models_versions_and_artifacts_are_there(registry: Registry) -> None:
    assert (
        export(registry.url, manifest(3), card="s3://b/README.md") == 12
    )  # a model, a version, an artifact and a label each: the team's artifact is the card
    version = registry.named("model_versions", "r@3", "7")
    models = [item["name"] for item in registry.items["registered_models"]]
    assert models == ["traced.A", "traced.B", "traced"]
    assert version is not None
    properties = version["customProperties"]
    assert TeamManifest.from_json(properties["rolewise.manifest"]["string_value"]) == manifest(3)
    assert properties["validation/success"]["double_value"] == 0.9
    assert properties["mlflow.version"]["string_value"] == "1"
    weights, *_, card = registry.items["artifacts"]
    assert weights["uri"] == make_ref("a", 3).uri
    assert (card["artifactType"], card["uri"]) == ("doc-artifact", "s3://b/README.md")


def test_again_writes_nothing(registry: Registry) -> None:
    export(registry.url, manifest(3))
    writes = registry.writes
    assert export(registry.url, manifest(3)) == 0
    assert registry.writes == writes


def test_champion_is_one_version_of_each_model(registry: Registry) -> None:
    for iteration in (3, 4, 5, 4):  # the last one is a rollback
        export(registry.url, manifest(iteration))
    models = ("traced.A", "traced.B", "traced")
    assert registry.labelled("champion") == dict.fromkeys(models, ["r@4"])
    assert len(registry.items["model_versions"]) == 9
    export(registry.url, manifest(6), champion=False)
    assert registry.labelled("champion") == dict.fromkeys(models, ["r@4"])


def test_what_others_wrote_stays(registry: Registry) -> None:
    export(registry.url, manifest(3))
    version = registry.items["model_versions"][0]
    version["customProperties"]["reviewed"] = kubeflow.string("kim")
    export(registry.url, manifest(3))
    assert version["customProperties"]["reviewed"] == kubeflow.string("kim")


def test_token_and_its_absence(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.token = "secret"
    with pytest.raises(TrackingError, match=r"401 unauthorised; set KF_MODEL_REGISTRY_TOKEN"):
        export(registry.url, manifest(3))
    monkeypatch.setenv(kubeflow.TOKEN, "secret")
    assert export(registry.url + kubeflow.PATH, manifest(3)) > 0


def test_a_short_outage_is_waited_for(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubeflow.time, "sleep", lambda seconds: None)
    registry.failures = 2
    assert export(registry.url, manifest(3)) > 0
    registry.failures = 3
    with pytest.raises(TrackingError, match="GET registered_model failed: 503 try again"):
        export(registry.url, manifest(3))


def test_no_registry_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubeflow.time, "sleep", lambda seconds: None)
    with pytest.raises(TrackingError, match=r"127.0.0.1:9: GET .*ConnectionError"):
        export("http://127.0.0.1:9", manifest(3))
    with pytest.raises(TrackingError, match="expected http"):
        ModelRegistry("localhost:8080")


def test_the_stand_in_holds_to_the_document(registry: Registry) -> None:
    bad = {"name": "m", "customProperties": {"x": {"metadataType": "MetadataStringValue"}}}
    with pytest.raises(Refused, match="customProperties"):
        registry.answer("POST", f"{kubeflow.PATH}/registered_models", {}, bad)
    with pytest.raises(Refused, match="no such operation"):
        registry.answer("DELETE", f"{kubeflow.PATH}/registered_models/1", {}, None)
