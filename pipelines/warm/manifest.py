"""A warm server as Kubernetes resources: one Deployment of one pod, and its Service.

Plain JSON, a function of the profile and the plan; who creates them is `cluster.py`'s affair.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from components.images import VLLM
from components.rollout.warm.layout import Server
from components.rollout.warm.process import Plan
from components.server_settings import ServerConfig
from pipelines.profile import RUNTIMES, Profile, StepSettings

STEP = "server"
"""The servers' name among a profile's steps."""
LABEL = "rolewise.dev/server"
PLAN = "rolewise.dev/plan"
"""Annotation: digest of what decides whether a server can be adopted."""
RUNTIME = RUNTIMES[VLLM]


def deployment(
    server: Server, run: str, plan: Plan, settings: ServerConfig, profile: Profile
) -> dict[str, Any]:
    """The Deployment."""
    pod = profile.settings(STEP, RUNTIME)
    mine = {LABEL: server.name}
    labels = {**pod.labels, **mine, **_common(run)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": server.name,
            "labels": {**mine, **_common(run)},
            "annotations": {PLAN: digest(server, plan, settings, profile)},
        },
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": settings.start_timeout_s,
            "selector": {"matchLabels": mine},
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod(server, run, plan, settings, profile, pod),
            },
        },
    }


def service(server: Server, run: str, settings: ServerConfig) -> dict[str, Any]:
    """The Service in front of the pod."""
    mine = {LABEL: server.name}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": server.name, "labels": {**mine, **_common(run)}},
        "spec": {
            "selector": mine,
            "ports": [{"name": "http", "port": settings.port, "targetPort": settings.port}],
        },
    }


def digest(server: Server, plan: Plan, settings: ServerConfig, profile: Profile) -> str:
    """Of all that a running server cannot change: full weights it can, their architecture not."""
    lasting = (
        plan
        if server.ranks
        else replace(plan, folder=replace(plan.folder, uri="", sha256="", bytes=0))
    )
    pod = profile.settings(STEP, RUNTIME).model_dump(mode="json")
    image = profile.images.get(RUNTIME, "")
    content = [lasting.to_json(), settings.model_dump(mode="json"), pod, image]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _common(run: str) -> dict[str, str]:
    words = re.sub(r"[^A-Za-z0-9_.-]", "-", run)[:63].strip("-_.")
    return {"app.kubernetes.io/managed-by": "rolewise", "rolewise.dev/run": words}


def _pod(
    server: Server, run: str, plan: Plan, settings: ServerConfig, profile: Profile,
    pod: StepSettings,
) -> dict[str, Any]:  # fmt: skip
    """The pod's spec; what the profile leaves open is left out."""
    mounts, volumes = [], []
    if pod.shm:
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": pod.shm}})
    command = [
        "python", "-m", "components.rollout.warm", f"--run={run}", f"--name={server.name}",
        f"--port={settings.port}", f"--max-age-s={settings.max_age_s}", f"--plan={plan.to_json()}",
    ]  # fmt: skip
    container = {
        "name": "server", "image": profile.images[RUNTIME], "command": command,
        "env": _environment(pod), "ports": [{"name": "http", "containerPort": settings.port}],
        "resources": _resources(pod), "volumeMounts": mounts,
        "readinessProbe": {
            "httpGet": {"path": "/health", "port": settings.port},
            "periodSeconds": 2, "timeoutSeconds": 5, "failureThreshold": 3,
        },
        "securityContext": {
            "allowPrivilegeEscalation": False, "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        },
    }  # fmt: skip
    found = {
        "containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 30,
        "serviceAccountName": settings.service_account, "nodeSelector": pod.node_selector,
        "tolerations": [each.model_dump(exclude_none=True) for each in pod.tolerations],
        "imagePullSecrets": [{"name": name} for name in pod.image_pull_secrets],
    }  # fmt: skip
    return {key: value for key, value in found.items() if value not in (None, [], {})}


def _environment(pod: StepSettings) -> list[dict[str, Any]]:
    """Fixed values, secrets, and the pod's address, at which the server listens."""
    found: list[dict[str, Any]] = [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    ]
    found += [{"name": name, "value": value} for name, value in sorted(pod.env.items())]
    for optional, secrets in ((False, pod.secrets), (True, pod.optional_secrets)):
        for secret, keys in sorted(secrets.items()):
            found += [_secret(secret, key, name, optional) for key, name in sorted(keys.items())]
    return found


def _secret(secret: str, key: str, name: str, optional: bool) -> dict[str, Any]:
    reference: dict[str, Any] = {"name": secret, "key": key}
    if optional:
        reference["optional"] = True
    return {"name": name, "valueFrom": {"secretKeyRef": reference}}


def _resources(pod: StepSettings) -> Mapping[str, Any]:
    amounts: dict[str, str] = {}
    if pod.cpu:
        amounts["cpu"] = pod.cpu
    if pod.memory:
        amounts["memory"] = pod.memory
    if pod.accelerator:
        amounts[pod.accelerator.type] = str(pod.accelerator.count)
    return {"limits": amounts, "requests": amounts} if amounts else {}
