"""What `kubectl kustomize` makes of deploy/, as manifests. It asks no cluster."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "deploy"
OVERLAYS = ("laptop", "8xh100")
COMPONENTS = sorted(path.name for path in (FOLDER / "components").iterdir())
Manifest = Mapping[str, Any]


def build(folder: Path) -> list[Manifest]:
    """All manifests of a kustomization. Skips the test where there is no kubectl."""
    if shutil.which("kubectl") is None:
        pytest.skip(
            "no kubectl here: manifests were checked one by one, not as kustomize joins them"
        )
    command = ["kubectl", "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@cache
def overlay(name: str) -> list[Manifest]:
    """An overlay as it is in the repository."""
    return build(FOLDER / "overlays" / name)


def with_components(folder: Path, name: str, components: Sequence[str]) -> list[Manifest]:
    """An overlay with more components, as a user would enable them."""
    up = os.path.relpath(FOLDER, folder.resolve())
    content = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "namespace": "rolewise", "resources": [f"{up}/overlays/{name}"],
        "components": [f"{up}/components/{component}" for component in components],
    }  # fmt: skip
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content))
    return build(folder)


def of_kind(manifests: Sequence[Manifest], *kinds: str) -> dict[str, Manifest]:
    """Name -> manifest."""
    return {item["metadata"]["name"]: item for item in manifests if item["kind"] in kinds}


def pod_specs(manifests: Sequence[Manifest]) -> dict[str, Manifest]:
    """Name of a workload -> the spec of its pods."""
    found = of_kind(manifests, "Deployment", "StatefulSet", "Job", "DaemonSet")
    return {name: item["spec"]["template"]["spec"] for name, item in found.items()}
