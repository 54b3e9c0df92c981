"""docs/laptop_to_cluster.md, word by word: a laptop, a bucket and a stand-in of a cluster."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
import yaml

from components.config import load_config
from components.settings import StorageConfig
from components.state import read_state
from components.storage import open_store
from pipelines.compiling import open_profile
from pipelines.driver import run_name
from tests.documents import files
from tests.doubles import kfp_api
from tests.doubles.kfp_api import KfpApi
from tests.doubles.s3 import s3_server
from tests.e2e import tracking_server
from tests.walkthrough import ROOT, Walk, shell

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
PAGE = ROOT / "docs" / "laptop_to_cluster.md"
KEYS = {"AWS_ACCESS_KEY_ID": "...", "AWS_SECRET_ACCESS_KEY": "..."}


@dataclass(frozen=True)
class Walked:
    """The page after its last command."""

    walk: Walk
    api: KfpApi
    run: str

    def weights(self, iteration: int, **where: str) -> dict[str, str]:
        """Policy -> digest, by default in the bucket."""
        cache = str(self.walk.folder / "build" / "cache")
        storage = StorageConfig(**{"uri": "s3://teams/hello", **where}, cache=cache)
        state = read_state(open_store(storage), self.run, iteration)
        return {name: policy.sha256 for name, policy in state.policies.items()}


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    """A laptop's folder, and pods that run in another, with the secret's keys alone."""
    laptop, pods, mlflow = (tmp_path_factory.mktemp(it) for it in ("laptop", "pods", "mlflow"))
    (laptop / "deploy").symlink_to(ROOT / "deploy")
    with ExitStack() as stack:
        s3 = stack.enter_context(s3_server(bucket="teams"))
        tracking = stack.enter_context(tracking_server.serving(mlflow))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in (KEYS | {"AWS_ENDPOINT_URL": s3, "PYTHONPATH": str(ROOT)}).items():
            patch.setenv(name, value)
        patch.chdir(pods)
        api = stack.enter_context(kfp_api.serving(kfp_api.locally(pods), token="..."))
        places = {"https://kubeflow.example/pipeline": api.url, "https://s3.example": s3,
                  "https://mlflow.example": tracking}  # fmt: skip
        walk = Walk(PAGE, laptop, places)
        walk.through()
        yield Walked(walk, api, run_name(load_config(laptop / "team.yaml"), None))


def test_the_page_names_the_run(walked: Walked) -> None:
    named = re.findall(r"hello-[0-9a-f]{8}", PAGE.read_text())
    assert set(named) == {walked.run}


def test_one_run_went_through_all_places(walked: Walked) -> None:
    made = [(run.body["display_name"], run.state) for run in walked.api.runs]
    assert made == [
        ("by-hand", "SUCCEEDED"),
        (f"{walked.run}-iteration-000003", "CANCELED"),
        (f"{walked.run}-iteration-000003", "SUCCEEDED"),
    ]
    assert walked.weights(1) != walked.weights(2) != walked.weights(3)


def test_folder_and_bucket_end_with_the_same_weights(walked: Walked) -> None:
    folder = f"file://{walked.walk.folder}/build/store"
    assert walked.weights(1) == walked.weights(1, uri=folder)


def test_the_digest_is_the_same_in_all_places(walked: Walked) -> None:
    checks = [it.printed for it in walked.walk.commands if " preflight team.yaml" in it.text]
    digests = [found for text in checks for found in re.findall(r"digest (\w+)", text)]
    assert len(digests) == 4 and set(digests) == {walked.run.removeprefix("hello-")}


def test_refusals_name_the_fix(walked: Walked) -> None:
    printed = walked.walk.printed(" compile ", "single-gpu -o")
    assert "no image for cpu, vllm, deepspeed" in printed and "--images FILE" in printed


def test_the_run_is_told_about_on_the_way(walked: Walked) -> None:
    walk, name = walked.walk, f"{walked.run}-iteration-000003"
    assert f"{walked.api.url}/#/runs/details/" in walk.printed(" submit ")
    assert f"{name}: CANCELED" in walk.printed(" stop ")
    assert f"--- {name} (SUCCEEDED)" in walk.printed(" logs ")
    assert "--- step update" in walk.printed(" logs ")
    assert "promotion: refused" in walk.printed(" submit ", "--wait")


def test_the_secret_holds_what_the_profile_asks_for(walked: Walked) -> None:
    """What needs a cluster is made by the client alone; the rest of it is looked at."""
    (command,) = [it for it in walked.walk.left_out if "create secret" in it]
    done = subprocess.run(
        shell(f"{command} --dry-run=client -o yaml"), env=walked.walk.environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    secret = yaml.safe_load(done.stdout)
    wanted = open_profile("single-gpu").settings("rollout", "vllm").secrets
    assert set(secret["data"]) == set(wanted[secret["metadata"]["name"]]) == set(KEYS)


def test_what_was_not_executed_needs_a_cluster_or_docker(walked: Walked) -> None:
    starts = sorted(" ".join(it.split()[:2]) for it in walked.walk.left_out)
    assert starts == ["kubectl -n", "kubectl apply", "make images", "make push"]
    (applied,) = [it for it in walked.walk.left_out if "apply" in it]
    assert "kind: NetworkPolicy" in walked.walk.printed("kubectl kustomize", applied.split()[-1])
    assert set(yaml.safe_load(files(PAGE)["images.yaml"])) == {"cpu", "vllm", "deepspeed", "driver"}
