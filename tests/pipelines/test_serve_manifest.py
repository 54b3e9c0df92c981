"""KServe resources of a team: shared bases, names, images, secrets, the schema of their kind."""

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.models.export_page import commands
from components.models.exporting import Export, ExportedPolicy
from components.models.serving import servers
from components.policies import FolderRef, PolicyRef, Team
from pipelines.__main__ import _parser
from pipelines.deployment import copied, is_loose, write_manifest
from pipelines.profile import Profile
from pipelines.serving import plans
from pipelines.teams import FoundTeam, wanted
from tests.components.rollout_engines.tiny_team import make_policy, make_store
from tests.deploy.custom_resources import read_schema, schema_faults
from tests.deploy.schema import faults
from tests.pipelines.experiment import IMAGES, make_config, pinned

CRD = "KSERVE_CRD"
"""Names a file: InferenceService's CustomResourceDefinition of a KServe release."""


class Bucket:
    """A store that knows two small files of every folder."""

    uri = "s3://bucket/teams"

    def read(self, key: str) -> bytes:
        content = {"config.json": {"max_position_embeddings": 512}, "adapter_config.json": {"r": 4}}
        return json.dumps(content[key.rpartition("/")[2]]).encode()

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        return cache / ref.sha256


def ref(name: str, base: PolicyRef | None = None) -> PolicyRef:
    digest = name.encode().hex().ljust(64, "0")
    return PolicyRef(name, 3, f"{Bucket.uri}/policies/{digest}", digest, 10, base)


BASE = ref("base")
TEAM = Team(
    {"plan": ref("plan", BASE), "tool": ref("tool", BASE), "judge": ref("judge")},
    {"planner": "plan", "tooler": "tool", "critic": "tool", "judge": "judge"},
)
OWN = Team({"a": ref("a"), "b": ref("b")}, {"tool": "a", "planner": "b"})


def found(team: Team, store: Any = None, config: ExperimentConfig | None = None) -> FoundTeam:
    return FoundTeam("My_Team", "r", 3, team, config or trained(team), store or Bucket(), None)


def trained(team: Team, base: str = "pkg://model", **sections: Any) -> ExperimentConfig:
    """The configuration that a team with such policies comes from."""
    policy = {"base": base, **({"init": {}} if base == "init://" else {})}
    policies = dict.fromkeys(team.policies, policy)
    return make_config(
        storage={"uri": Bucket.uri}, roles=dict(team.roles), policies=policies, **sections
    )


def written(
    folder: Path, team: FoundTeam, *words: str, profile: Profile | None = None
) -> list[dict[str, Any]]:
    command = ["serve-manifest", "x", "-o", str(folder / "team.yaml"), *words]
    list(write_manifest(team, profile or pinned("8xh100"), _parser().parse_args(command)))
    return list(yaml.safe_load_all((folder / "team.yaml").read_text()))


def arguments_of(service: dict[str, Any]) -> list[str]:
    words: list[str] = service["spec"]["predictor"]["containers"][0]["args"]
    return words


def test_adapters_on_one_base_share_a_service(tmp_path: Path) -> None:
    account, first, second = written(tmp_path, found(TEAM))
    assert account["secrets"] == [{"name": "rolewise-storage"}]
    assert [item["metadata"]["name"] for item in (first, second)] == [
        "my-team-planner", "my-team-judge",
    ]  # fmt: skip
    assert first["spec"]["predictor"]["storageUris"] == [
        {"uri": BASE.uri, "mountPath": "/mnt/models/weights"},
        {"uri": TEAM.policies["plan"].uri, "mountPath": "/mnt/models/planner"},
        {"uri": TEAM.policies["tool"].uri, "mountPath": "/mnt/models/tooler"},
    ]
    words = arguments_of(first)
    assert words[:4] == ["--model", "/mnt/models/weights", "--served-model-name", "base"]
    modules = words[words.index("--lora-modules") + 1 :][:3]
    assert modules == [
        "planner=/mnt/models/planner", "tooler=/mnt/models/tooler", "critic=/mnt/models/tooler",
    ]  # fmt: skip
    assert words[words.index("--max-lora-rank") + 1] == "8"
    assert words[words.index("--max-model-len") + 1] == "512"
    assert "--enable-lora" not in arguments_of(second)


def test_a_service_per_role_on_demand(tmp_path: Path) -> None:
    names = [item["metadata"]["name"] for item in written(tmp_path, found(TEAM), "--per-role")[1:]]
    assert names == ["my-team-planner", "my-team-tooler", "my-team-critic", "my-team-judge"]


def test_the_profile_says_where_it_runs(tmp_path: Path) -> None:
    config = trained(OWN, rollout={"tensor_parallel": 2, "dtype": "bfloat16"})
    _, service, _ = written(tmp_path, found(OWN, config=config))
    predictor = service["spec"]["predictor"]
    (container,) = predictor["containers"]
    assert container["image"] == IMAGES["vllm"]
    assert container["resources"]["limits"] == {
        "cpu": "8", "memory": "96Gi", "nvidia.com/gpu": "2",
    }  # fmt: skip
    assert predictor["tolerations"][0]["key"] == "nvidia.com/gpu"
    assert predictor["volumes"][0]["emptyDir"]["sizeLimit"] == "16Gi"
    words = " ".join(arguments_of(service))
    assert "--tensor-parallel-size 2" in words and "--dtype bfloat16" in words
    assert service["metadata"]["annotations"]["rolewise.dev/tool"] == OWN.policies["a"].tag


def test_a_quantised_team_is_served_quantised_everywhere(tmp_path: Path) -> None:
    config = trained(OWN, rollout={"engine": "vllm", "quantization": "fp8", "tensor_parallel": 2})
    command = ["serve-manifest", "x", "-o", str(tmp_path / "team.yaml")]
    said = list(
        write_manifest(found(OWN, config=config), pinned("8xh100"), _parser().parse_args(command))
    )
    _, service, _ = yaml.safe_load_all((tmp_path / "team.yaml").read_text())
    lines = [line for line in said if line.startswith("vllm serve")]
    here = [" ".join(plan.words) for plan in plans(found(OWN, config=config))]
    facts = wanted(found(OWN, config=config), tmp_path).facts
    policy = ExportedPolicy("policies/a", None, "a@1", "0", False, 0, 256, "")
    exported = Export(**facts, roles={"tool": "a"}, policies={"a": policy})
    alone = [" ".join(words) for words in commands(asdict(exported))]
    for words in (" ".join(arguments_of(service)), *lines, *here, *alone):
        assert "--tensor-parallel-size 2 --quantization fp8" in words
    assert len(lines) == len(here) == 2 and len(alone) == 1


@pytest.mark.parametrize("team", [TEAM, OWN])
@pytest.mark.parametrize("profile", ["single-gpu", "8xh100"])
def test_manifests_are_of_their_kinds_and_hold_no_secret(
    tmp_path: Path, team: Team, profile: str
) -> None:
    content = written(tmp_path, found(team), "--namespace", "teams", profile=pinned(profile))
    assert [fault for item in content for fault in faults(item)] == []
    assert {item["metadata"]["namespace"] for item in content} == {"teams"}
    for service in content[1:]:
        predictor = service["spec"]["predictor"]
        assert predictor["securityContext"]["runAsNonRoot"]
        assert not any("SECRET" in item["name"] for item in predictor["containers"][0]["env"])


@pytest.mark.full
def test_manifests_are_as_kserve_s_own_schema_says(tmp_path: Path) -> None:
    if CRD not in os.environ:
        pytest.skip(f"{CRD} names no file: KServe's schema was not asked, its copy here was")
    schema = read_schema(Path(os.environ[CRD]), "v1beta1")
    for team in (TEAM, OWN):
        for service in written(tmp_path, found(team))[1:]:
            assert schema_faults(service, schema) == []
    service["spec"]["predictor"]["storageUris"][0]["mountpath"] = 3
    assert len(schema_faults(service, schema)) == 1


def test_kubectl_reads_the_file(tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl here")
    expected = written(tmp_path, found(TEAM))
    (tmp_path / "kustomization.yaml").write_text("resources: [team.yaml]\n")
    done = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert sorted(item["kind"] for item in yaml.safe_load_all(done.stdout)) == sorted(
        item["kind"] for item in expected
    )


def test_commands_without_kubernetes_are_of_the_same_servers(tmp_path: Path) -> None:
    command = ["serve-manifest", "x", "-o", str(tmp_path / "team.yaml")]
    lines = list(write_manifest(found(TEAM), pinned("8xh100"), _parser().parse_args(command)))
    written_lines = [shlex.split(line) for line in lines if line.startswith("vllm serve")]
    assert [words[2] for words in written_lines] == [f"./{BASE.sha256}", f"./{ref('judge').sha256}"]


def test_weights_of_a_laptop_are_copied(tmp_path: Path) -> None:
    here, there = make_store(tmp_path / "here"), make_store(tmp_path / "there")
    base = make_policy(here, tmp_path, "base", 0)
    adapter = replace(make_policy(here, tmp_path, "plan", 1), base=base)
    team = Team({"plan": adapter}, {"planner": "plan"})
    moved = copied(team, here, there, tmp_path / "cache").of("planner")
    assert moved.base is not None and moved.base.uri.startswith(f"{there.uri}/served/")
    assert moved.tag == team.of("planner").tag
    assert moved.uri != moved.base.uri and there.exists(f"{key(moved.base)}/model.safetensors")
    assert b'"unk_token": "<pad>"' in there.read(f"{key(moved.base)}/tokenizer.json")


def key(moved: PolicyRef) -> str:
    return "/".join(moved.uri.split("/")[-2:])


def test_models_from_scratch_are_copied_or_refused(tmp_path: Path) -> None:
    config = trained(OWN, "init://")
    with pytest.raises(ConfigError, match=r"policies \['a', 'b'\] were made from scratch.*--to"):
        written(tmp_path, found(OWN, config=config))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-replicas", "0"], "--max-replicas 0 is less than --min-replicas 1"),
        (["--to", "file://elsewhere"], "no pod can read; --to s3://bucket/prefix copies them"),
    ],
)
def test_what_a_cluster_would_refuse_is_refused_now(
    tmp_path: Path, words: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        written(tmp_path, found(OWN), *words)
    assert not (tmp_path / "team.yaml").exists()


def test_images_that_can_change_are_refused(tmp_path: Path) -> None:
    from pipelines.compiling import open_profile

    with pytest.raises(ConfigError, match="no image for vllm"):
        written(tmp_path, found(OWN), profile=open_profile("8xh100"))
    names = {"": True, ":latest": True, ":0.1.0": False, "@sha256:0": False}
    assert {end: is_loose(f"registry.example:5000/vllm{end}") for end in names} == names


def test_servers_of_a_team() -> None:
    shared, judge = servers(TEAM)
    assert shared.roles == () and shared.plays == ("planner", "tooler", "critic")
    assert judge.roles == ("judge",) and judge.adapters == {}
    both = servers(Team({"one": ref("one")}, {"tool": "one", "planner": "one"}))
    assert [server.roles for server in both] == [("tool", "planner")]
