"""A run with a committed start, and what its driver needs to keep servers: on this machine or on a
stand-in of a cluster whose Deployments are real processes."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import psutil
import yaml

from components.cluster import Cluster
from components.config import ExperimentConfig
from components.policies import PolicyRef
from components.state import TrainingState, write_state
from components.storage import Store, open_store
from pipelines.display import Display
from pipelines.profile import Profile, parse_profile
from pipelines.warm.cluster import KubernetesPlace
from pipelines.warm.places import LocalPlace
from tests.components.rollout_server.serving import POLICY, make_config
from tests.doubles.kubernetes_api import KubernetesApi, serving
from tests.doubles.kubernetes_processes import Processes

FAKE = "--module=tests.doubles.warm_server"
"""Instead of vLLM."""
ROLES = Path("deploy/components/warm-servers")
IMAGE = "registry.example/vllm@sha256:" + "0" * 64


def role(name: str) -> list[dict[str, Any]]:
    """The rules of a Role that ships."""
    for path in sorted(ROLES.glob("*.yaml")):
        for item in yaml.safe_load_all(path.read_text()):
            if item.get("kind") == "Role" and item["metadata"]["name"] == name:
                return list(item["rules"])
    raise LookupError(name)


def make_profile(**settings: Any) -> Profile:
    content = {"images": {"vllm": IMAGE}, "steps": {"server": settings}}
    return parse_profile("p", content)


@dataclass
class Kept:
    """A run's store and its driver's words."""

    folder: Path
    config: ExperimentConfig
    out: StringIO = field(default_factory=StringIO)

    @property
    def store(self) -> Store:
        return open_store(self.config.storage)

    @property
    def display(self) -> Display:
        return Display(self.out, self.config.iterations)

    def local(self) -> LocalPlace:
        assert self.config.rollout.server
        return LocalPlace("r", self.config.rollout.server, self.folder / "logs", (FAKE,))


def make_run(folder: Path, policies: tuple[str, ...] = ("solo",), **server: Any) -> Kept:
    """A run "r" whose iteration 0 is committed."""
    config = make_config(folder, dict.fromkeys(policies, POLICY), **server)
    kept = Kept(folder, config)
    refs = {
        name: PolicyRef(name, 0, f"{config.storage.uri}/policies/{number}", f"{number}" * 64, 1)
        for number, name in enumerate(policies, 1)
    }
    state = TrainingState("r", 0, config.digest(), refs, {}, refs, 0)
    write_state(kept.store, state)
    return kept


@dataclass
class StandIn:
    """A cluster."""

    api: KubernetesApi
    processes: Processes
    place: KubernetesPlace


@contextmanager
def cluster(kept: Kept, owner: dict[str, Any] | None = None, **options: Any) -> Iterator[StandIn]:
    """Driver and servers have the rights of the Roles that ship, and no others."""
    assert kept.config.rollout.server
    tokens = {
        "driver": role("rolewise-warm-servers"), "server": role("rolewise-server"), "admin": None,
    }  # fmt: skip
    with serving(tokens=tokens, **options) as api:
        account = api.pod_account(kept.folder / "account", "server", "team")
        arguments = (FAKE, f"--kubernetes-api={api.url}", f"--account={account}")
        processes = Processes(api, kept.folder, arguments=arguments).attach()
        with api.client("driver") as made:
            connection = Cluster(made, "team", owner)
            settings = kept.config.rollout.server
            place = KubernetesPlace(connection, "r", settings, make_profile())
            yield StandIn(api, processes, place)


def await_end(holds: Callable[[], Any], timeout_s: float = 30.0) -> None:
    """Wait until something holds. AssertionError when the time is over."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "the awaited did not come"
        time.sleep(0.05)


def mine(text: str) -> list[int]:
    """Ids of living processes whose command line holds `text`."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        with suppress(psutil.Error):
            words = " ".join(process.info["cmdline"] or ())
            if text in words and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return [pid for pid in found if pid != os.getpid()]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
