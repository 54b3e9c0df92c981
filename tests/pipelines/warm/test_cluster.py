"""Servers on a cluster, by the real client and a stand-in of the API that runs them: created,
adopted, taken down by their driver or, if that died, by themselves; with the rights that ship."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.cluster import Cluster, ClusterError
from components.policies import FolderRef
from components.rollout.warm.layout import Server
from components.rollout.warm.process import Plan
from pipelines.runner import StepFailed
from pipelines.warm import cluster as warm_cluster
from pipelines.warm import manifest
from pipelines.warm.cluster import KubernetesPlace
from pipelines.warm.servers import Servers, keep
from tests.doubles.kubernetes_api import Call, Kind
from tests.doubles.kubernetes_rules import Refused
from tests.doubles.silence import hurry, silent_cluster, soon
from tests.pipelines.warm.kept import await_end, cluster, make_profile, make_run, mine
from tests.pipelines.warm.test_local import is_let_in, names

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "driver"}}
SERVER = Server("warm-r-solo-00000000", FolderRef("uri", "1" * 64, 1), ("solo",), ())


def nothing(pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
    """A pipeline that is done."""


def test_a_deployment_is_ready_answers_and_is_gone_after_the_block(tmp_path: Path) -> None:
    kept = make_run(tmp_path)
    with cluster(kept) as there:
        with keep(kept.config, "r", there.place, kept.display, nothing) as warm:
            warm("iteration", 1, {})
            (name,) = names(kept)
            assert is_let_in(kept, name)
            uid = there.api.find("deployments", name)[0]["metadata"]["uid"]
            warm("iteration", 2, {})
            assert there.api.find("deployments", name)[0]["metadata"]["uid"] == uid
        await_end(lambda: not there.processes.running())
        assert not there.api.find("deployments") and not there.api.find("services")
    assert "127.77.0." in kept.out.getvalue() and "taken down" in kept.out.getvalue()


def test_servers_whose_driver_died_remove_themselves_with_the_rights_that_ship(
    tmp_path: Path,
) -> None:
    kept = make_run(tmp_path, lease_s=2)
    with cluster(kept) as there:
        driver = Servers(kept.config, "r", there.place, kept.display)
        driver.ensure()
        (name,) = names(kept)
        driver._closed.set()  # as dead as SIGKILL: no more signs of life, no goodbye
        await_end(lambda: not there.api.find("deployments"))
        await_end(lambda: not there.processes.running())
        assert not there.api.find("services") and not there.api.find("pods")
        log = there.processes.log(name)
        assert "no sign of life for 2 s" in log
        assert "services deleted, deployments deleted" in log
        await_end(lambda: not mine(str(tmp_path)))


@pytest.mark.full
def test_without_the_right_to_remove_itself_a_server_serves_nothing_any_more(
    tmp_path: Path,
) -> None:
    kept = make_run(tmp_path, lease_s=2)
    with cluster(kept) as there:
        there.api.tokens["server"] = []
        driver = Servers(kept.config, "r", there.place, kept.display)
        driver.ensure()
        driver._closed.set()
        (name,) = names(kept)
        await_end(lambda: there.processes.log(name).count("deployments stays: 403 Forbidden") > 1)
        assert not mine("tests.doubles.warm_server /tmp/rolewise-warm-")


def test_an_owner_that_goes_takes_its_servers_along(tmp_path: Path) -> None:
    kept = make_run(tmp_path)
    with cluster(kept) as there:
        pod = there.api.create(Kind("", "v1", "team", "pods"), POD)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": pod["metadata"]["uid"]}
        with there.api.client("driver") as made:
            there.place._cluster = Cluster(made, "team", owner)
            driver = Servers(kept.config, "r", there.place, kept.display)
            driver.ensure()
            there.api.delete(Kind("", "v1", "team", "pods"), "driver")
            assert not there.api.find("deployments") and not there.api.find("services")
            await_end(lambda: not there.processes.running())
            driver.close()


def test_the_next_driver_adopts_a_server_of_the_same_plan_and_replaces_another(
    tmp_path: Path,
) -> None:
    kept = make_run(tmp_path)
    assert kept.config.rollout.server
    with cluster(kept) as there:
        first = Servers(kept.config, "r", there.place, kept.display)
        first.ensure()
        uid = there.api.find("deployments")[0]["metadata"]["uid"]
        first._closed.set()
        second = Servers(kept.config, "r", there.place, kept.display)
        second.ensure()
        assert there.api.find("deployments")[0]["metadata"]["uid"] == uid
        second._closed.set()
        larger = make_profile(memory="8Gi")
        there.place = KubernetesPlace(there.place._cluster, "r", kept.config.rollout.server, larger)
        third = Servers(kept.config, "r", there.place, kept.display)
        third.ensure()
        (found,) = there.api.find("deployments")
        assert found["metadata"]["uid"] != uid and is_let_in(kept, names(kept)[0])
        third.close()
        await_end(lambda: not there.processes.running())


def test_an_api_that_is_silent_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch, warm_cluster)
    settings = make_run(tmp_path).config.rollout.server
    assert settings
    with silent_cluster() as connection, soon():
        place = KubernetesPlace(connection, "r", settings, make_profile())
        with pytest.raises(ClusterError, match="the Kubernetes API does not answer"):
            place.stop(SERVER.name)


def test_faults_of_the_api_and_of_the_pod_are_one_sentence(tmp_path: Path) -> None:
    kept = make_run(tmp_path, start_timeout_s=1)
    with cluster(kept) as there:
        driver = Servers(kept.config, "r", there.place, kept.display)

        def refuse(call: Call) -> Refused | None:
            quota = Refused(403, "Forbidden", "exceeded quota: gpus, requested: nvidia.com/gpu=8")
            return quota if call.resource == "deployments" and call.verb == "create" else None

        there.api.refuse = refuse
        with pytest.raises(
            StepFailed, match="error: warm servers in namespace 'team': 403: exceeded"
        ):
            driver.ensure()
        there.api.refuse = lambda call: None
        del there.api.tokens["driver"]
        with pytest.raises(StepFailed, match="401: Unauthorized"):
            driver.ensure()
        driver.close()
    assert "it ends by itself" in kept.out.getvalue()


def test_an_image_that_cannot_be_pulled_is_named(tmp_path: Path) -> None:
    kept = make_run(tmp_path, start_timeout_s=1)
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    status = {
        "name": "server",
        "ready": False,
        "restartCount": 0,
        "image": "i",
        "imageID": "",
        "state": waiting,
    }
    with cluster(kept) as there:
        there.api._controls.clear()  # nothing starts

        def pull(event: Any) -> None:
            if event.type == "ADDED":
                kind = Kind("", "v1", "team", "pods")
                labels = event.item["spec"]["template"]["metadata"]["labels"]
                body = {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "p", "labels": labels},
                }
                there.api.create(kind, body)
                pod = there.api.read(kind, "p") | {"status": {"containerStatuses": [status]}}
                there.api.replace(kind, "p", pod, "status")

        there.api.control("deployments", pull)
        driver = Servers(kept.config, "r", there.place, kept.display)
        with pytest.raises(StepFailed, match="is not ready .*ImagePullBackOff: no such image"):
            driver.ensure()
        driver.close()


def test_the_manifest_has_what_the_profile_says(tmp_path: Path) -> None:
    settings = make_run(tmp_path).config.rollout.server
    assert settings
    profile = make_profile(
        accelerator={"type": "nvidia.com/gpu", "count": 2}, shm="8Gi", memory="64Gi",
        node_selector={"gpu": "h100"}, secrets={"s3": {"key": "AWS_ACCESS_KEY_ID"}},
        tolerations=[{"key": "gpu", "operator": "Exists"}], labels={"queue": "q"},
    )  # fmt: skip
    config = make_run(tmp_path / "other").config
    plan = Plan(config.storage, config.rollout, SERVER.folder, ())
    made = manifest.deployment(SERVER, "My Run!", plan, settings, profile)
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"memory": "64Gi", "nvidia.com/gpu": "2"}
    assert pod["nodeSelector"] == {"gpu": "h100"} and pod["serviceAccountName"] == "rolewise-server"
    assert pod["volumes"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Gi"}
    assert {"name": "s3", "key": "key"} in [
        entry["valueFrom"].get("secretKeyRef") for entry in container["env"]
    ]
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels["queue"] == "q" and labels["rolewise.dev/run"] == "My-Run"
    assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8000}
    other = replace(plan, folder=FolderRef("uri", "2" * 64, 1))
    digests = {manifest.digest(SERVER, each, settings, profile) for each in (plan, other)}
    adapted = replace(SERVER, ranks=(4,))
    more = {manifest.digest(adapted, each, settings, profile) for each in (plan, other)}
    assert len(digests) == 1 and len(more) == 2  # full weights are replaced in place, a base is not
