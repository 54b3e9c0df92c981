"""Manifests of deploy/: rendered by kustomize, against their schemas, and what they may contain."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.compiling import open_profile
from tests.deploy.rendered import (
    COMPONENTS,
    FOLDER,
    OVERLAYS,
    Manifest,
    of_kind,
    overlay,
    pod_specs,
    with_components,
)
from tests.deploy.schema import faults

DOCS = (FOLDER.parent / "docs" / "deployment.md").read_text()
ON_DEMAND = ("external-storage", "kueue", "trainjobs", "warm-servers")
OPTIONAL = [name for name in COMPONENTS if name in ON_DEMAND]
FILES = [
    path for path in sorted(FOLDER.rglob("*.yaml"))
    if path.name not in ("kustomization.yaml", "database.yaml", "profile.yaml")  # no manifests
]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_file_fits_its_schema(path: Path) -> None:
    for manifest in yaml.safe_load_all(path.read_text()):
        assert faults(manifest) == [], path


@pytest.mark.parametrize("name", OVERLAYS)
def test_what_kustomize_makes_fits_its_schema(name: str) -> None:
    manifests = overlay(name)
    assert [fault for manifest in manifests for fault in faults(manifest)] == []
    keys = [(item["kind"], item["metadata"]["name"]) for item in manifests]
    assert len(set(keys)) == len(keys) and "cluster" not in of_kind(manifests, "ConfigMap")


def test_every_component_joins_the_large_overlay(tmp_path: Path) -> None:
    manifests = with_components(tmp_path, "8xh100", OPTIONAL)
    assert [fault for manifest in manifests for fault in faults(manifest)] == []
    assert {"ClusterQueue", "LocalQueue"} <= {item["kind"] for item in manifests}
    assert "rolewise-trainjobs" in of_kind(manifests, "Role")
    assert "rolewise-deepspeed" in of_kind(manifests, "TrainingRuntime")
    used = (FOLDER / "overlays" / "8xh100" / "kustomization.yaml").read_text()
    assert all(f"components/{name}" in used for name in COMPONENTS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["spec"].update(replica=1), "spec.replica: unknown field of V1DeploymentSpec"),
        (lambda d: d["spec"].update(replicas="1"), "spec.replicas: expected int, got '1'"),
        (lambda d: d["spec"].pop("selector"), "`selector`, must not be `None`"),
        (lambda d: d.update(kind="Deploiment"), "apps/v1 Deploiment: no such kind"),
        (lambda d: d["spec"]["template"]["spec"].update(containers={}), "expected a list, got {}"),
    ],
)
def test_the_schema_sees_faults(change: Any, words: str) -> None:
    (_, deployment) = yaml.safe_load_all((FOLDER / "mlflow" / "deployment.yaml").read_text())
    change(deployment)
    assert words in "\n".join(faults(deployment))


def _everything(tmp_path: Path) -> list[Manifest]:
    return [*overlay("laptop"), *with_components(tmp_path, "8xh100", OPTIONAL)]


def test_rights_are_the_least(tmp_path: Path) -> None:
    roles = of_kind(_everything(tmp_path), "Role", "ClusterRole")
    rights = {
        name: {(*rule["apiGroups"], *rule["resources"]): (rule.get("resourceNames"), rule["verbs"])
               for rule in role["rules"]}
        for name, role in roles.items()
    }  # fmt: skip
    assert rights == {
        "rolewise-runner": {
            ("", "configmaps"): (["kfp-launcher"], ["get"]),
            ("", "secrets"): (["mlpipeline-minio-artifact"], ["get"]),
            ("", "pods"): (None, ["get"]),
            ("argoproj.io", "workflowtaskresults"): (None, ["create", "patch"]),
        },
        "rolewise-driver": {
            ("pipelines.kubeflow.org", "runs"): (None, ["create", "get", "list", "terminate"]),
            ("pipelines.kubeflow.org", "experiments"): (None, ["create", "get", "list"]),
        },
        "rolewise-trainjobs": {
            ("trainer.kubeflow.org", "trainjobs"): (None, ["create", "get", "patch", "delete"]),
            ("", "pods", "events"): (None, ["list"]),
            ("", "pods/log"): (None, ["get"]),
        },
        "rolewise-warm-servers": {
            ("apps", "deployments"): (None, ["create", "get", "patch", "delete"]),
            ("", "services"): (None, ["create", "patch", "delete"]),
            ("", "pods"): (None, ["list"]),
        },
        "rolewise-server": {
            ("apps", "deployments"): (None, ["delete"]),
            ("", "services"): (None, ["delete"]),
        },
    }  # fmt: skip


def test_bindings_name_what_exists(tmp_path: Path) -> None:
    manifests = with_components(tmp_path, "8xh100", OPTIONAL)
    roles, accounts = of_kind(manifests, "Role"), of_kind(manifests, "ServiceAccount")
    for binding in of_kind(manifests, "RoleBinding").values():
        assert binding["roleRef"]["name"] in roles
        assert all(subject["name"] in accounts for subject in binding["subjects"])
    for name, spec in pod_specs(manifests).items():
        assert spec["serviceAccountName"] in accounts, name


def test_pods_of_ours_pass_restricted_and_have_no_token(tmp_path: Path) -> None:
    for name, spec in pod_specs(_everything(tmp_path)).items():
        assert spec["automountServiceAccountToken"] is False, name
        pod = spec["securityContext"]
        assert pod["runAsNonRoot"] and pod["runAsUser"] > 0
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False and own["readOnlyRootFilesystem"]
            assert own["capabilities"] == {"drop": ["ALL"]}
            assert {"limits", "requests"} <= set(container["resources"])


def test_no_secret_has_a_value_and_every_name_is_explained(tmp_path: Path) -> None:
    manifests = _everything(tmp_path)
    assert of_kind(manifests, "Secret") == {}
    names = {
        source["secretKeyRef"]["name"]
        for spec in pod_specs(manifests).values()
        for container in spec["containers"]
        for source in (item.get("valueFrom", {}) for item in container["env"])
        if "secretKeyRef" in source
    }
    for profile in ("single-gpu", "8xh100"):
        settings = open_profile(profile).settings("initialise", "deepspeed")
        names |= {*settings.secrets, *settings.optional_secrets}
    assert names >= {"rolewise-storage", "rolewise-hub", "rolewise-mlflow-database"}
    assert all(f"secret generic {name}" in DOCS for name in names), names


def test_images_are_placeholders(tmp_path: Path) -> None:
    images = {
        container["image"]
        for spec in pod_specs(_everything(tmp_path)).values()
        for container in spec["containers"]
    }
    assert images == {"registry.example/mlflow:3.17.2", "registry.example/postgres:17"}


def test_the_database_is_the_overlays() -> None:
    laptop, large = (of_kind(overlay(name), "Deployment")["mlflow"] for name in OVERLAYS)
    volumes = {volume["name"] for volume in large["spec"]["template"]["spec"]["volumes"]}
    assert volumes == {"tmp"} and "mlflow" not in of_kind(
        overlay("8xh100"), "PersistentVolumeClaim"
    )
    assert "data" in str(laptop["spec"]["template"]["spec"]["volumes"])
    (container,) = large["spec"]["template"]["spec"]["containers"]
    names = [item["name"] for item in container["env"]]  # an expansion sees earlier ones alone
    assert names.index("DATABASE_PASSWORD") < names.index("MLFLOW_BACKEND_STORE_URI")
