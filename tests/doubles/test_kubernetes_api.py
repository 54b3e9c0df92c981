"""The Kubernetes stand-in answers the real client as the real API would."""

import copy
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

from tests.doubles.kubernetes_api import Event, KubernetesApi, serving
from tests.doubles.kubernetes_rules import Refused, selects

JOBS = ("trainer.example.org", "v1alpha1", "team", "trainjobs")


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    with serving() as made:
        yield made


@pytest.fixture
def jobs(api: KubernetesApi) -> Iterator[Any]:
    with api.client() as made:
        yield client.CustomObjectsApi(made)


def job(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.example.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": name, **metadata}, "spec": {"nodes": 2},
    }  # fmt: skip


def secret(name: str, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    owners = [
        {"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": owner["metadata"]["uid"]}
    ] if owner else []  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "labels": {"for": name}, "ownerReferences": owners},
    }  # fmt: skip


def status_of(call: Any, *arguments: Any, **options: Any) -> tuple[int, str]:
    with pytest.raises(ApiException) as caught:
        call(*arguments, **options)
    return caught.value.status, caught.value.body


def test_objects_are_created_once_read_changed_and_deleted(jobs: Any) -> None:
    made = jobs.create_namespaced_custom_object(*JOBS, job("a", labels={"run": "r"}))
    assert status_of(jobs.create_namespaced_custom_object, *JOBS, job("a"))[0] == 409
    assert jobs.get_namespaced_custom_object(*JOBS, "a")["metadata"]["uid"]
    stale = copy.deepcopy(made) | {"spec": {"nodes": 4}}
    made["spec"]["nodes"] = 3
    changed = jobs.replace_namespaced_custom_object(*JOBS, "a", made)
    assert changed["metadata"]["generation"] == 2
    assert status_of(jobs.replace_namespaced_custom_object, *JOBS, "a", stale)[0] == 409
    jobs.delete_namespaced_custom_object(*JOBS, "a")
    code, words = status_of(jobs.get_namespaced_custom_object, *JOBS, "a")
    assert code == 404 and 'trainjobs.trainer.example.org \\"a\\" not found' in words


def test_lists_and_watches_select(api: KubernetesApi, jobs: Any) -> None:
    for name, run in (("a", "one"), ("b", "two")):
        jobs.create_namespaced_custom_object(*JOBS, job(name, labels={"run": run}))
    found = jobs.list_namespaced_custom_object(*JOBS, label_selector="run in (two, three)")
    assert [item["metadata"]["name"] for item in found["items"]] == ["b"]
    stream = watch.Watch().stream(
        jobs.list_namespaced_custom_object, *JOBS, field_selector="metadata.name=a",
        timeout_seconds=5,
    )  # fmt: skip
    seen = [next(stream)["type"]]
    threading.Timer(0.1, jobs.delete_namespaced_custom_object, (*JOBS, "a")).start()
    assert [*seen, next(stream)["type"]] == ["ADDED", "DELETED"]


def test_controllers_see_changes_and_set_the_status(api: KubernetesApi, jobs: Any) -> None:
    seen = []

    def complete(event: Event) -> None:
        seen.append(event.type)
        if event.type == "ADDED":
            event.sets_status({"conditions": [{"type": "Complete", "status": "True"}]})

    api.control("trainjobs", complete)
    jobs.create_namespaced_custom_object(*JOBS, job("a"))
    api.await_change(lambda: api.find("trainjobs", "a")[0].get("status"))
    assert jobs.get_namespaced_custom_object(*JOBS, "a")["status"]["conditions"]
    jobs.delete_namespaced_custom_object(*JOBS, "a")
    api.close()
    assert seen == ["ADDED", "MODIFIED", "DELETED"]


def test_what_an_object_owns_goes_with_it(api: KubernetesApi, jobs: Any) -> None:
    owner = jobs.create_namespaced_custom_object(*JOBS, job("a"))
    with api.client() as made:
        core = client.CoreV1Api(made)
        core.create_namespaced_secret("team", secret("owned", owner))
        core.create_namespaced_secret("team", secret("free"))
        core.create_namespaced_secret("team", secret("lost", {"metadata": {"uid": "nobody"}}))
        assert [s.metadata.name for s in core.list_namespaced_secret("team").items] == [
            "owned", "free",
        ]  # fmt: skip
        jobs.delete_namespaced_custom_object(*JOBS, "a")
        assert [s.metadata.name for s in core.list_secret_for_all_namespaces().items] == ["free"]


def test_patches_scale_and_status(api: KubernetesApi) -> None:
    body = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "d"}},
            "template": {"spec": {"containers": [{"name": "c"}]}},
        },
    }  # fmt: skip
    with api.client() as made:
        apps = client.AppsV1Api(made)
        apps.create_namespaced_deployment("team", body)
        containers = [{"name": "c", "image": "i"}]
        apps.patch_namespaced_deployment(
            "d", "team", {"spec": {"template": {"spec": {"containers": containers}}}}
        )
        apps.patch_namespaced_deployment_scale("d", "team", {"spec": {"replicas": 0}})
        apps.patch_namespaced_deployment_status("d", "team", {"status": {"readyReplicas": 1}})
    (found,) = api.find("deployments", "d")
    assert found["spec"]["replicas"] == 0 and found["status"] == {"readyReplicas": 1}
    assert found["spec"]["template"]["spec"]["containers"] == containers


def test_tokens_and_rules(api: KubernetesApi) -> None:
    may = {"apiGroups": [JOBS[0]], "resources": ["trainjobs"], "verbs": ["get", "create"]}
    api.tokens = {"driver": [may]}
    with api.client() as stranger, api.client("driver") as driver:
        create = client.CustomObjectsApi(stranger).create_namespaced_custom_object
        assert status_of(create, *JOBS, job("a"))[0] == 401
        jobs = client.CustomObjectsApi(driver)
        jobs.create_namespaced_custom_object(*JOBS, job("a"))
        code, words = status_of(jobs.delete_namespaced_custom_object, *JOBS, "a")
        assert code == 403 and "cannot delete resource" in words


def test_faults_and_bad_bodies_are_refused(api: KubernetesApi, jobs: Any, tmp_path: Any) -> None:
    create = jobs.create_namespaced_custom_object
    assert status_of(create, *JOBS, job("Not_A_Name"))[0] == 422
    assert status_of(create, *JOBS, job("a", labels={"run": "x" * 64}))[0] == 422
    assert status_of(create, *JOBS, job("a") | {"apiVersion": "v1"})[0] == 400
    api.refuse = lambda call: Refused(403, "Forbidden", "exceeded quota: gpus")
    config.load_kube_config(str(api.kubeconfig(tmp_path / "config")))
    code, words = status_of(
        client.CustomObjectsApi().create_namespaced_custom_object, *JOBS, job("a")
    )
    assert code == 403 and "exceeded quota" in words and not api.find("trainjobs")


def test_label_selectors() -> None:
    labels = {"a": "b", "e": "x"}
    for holds in ("a=b", "a==b,e in (x, y)", "c!=d", "e notin (z)", "a,!h", ""):
        assert selects(holds, labels), holds
    for fails in ("a=c", "a!=b", "e notin (x)", "e in (y),a=b", "h", "!a"):
        assert not selects(fails, labels), fails
