"""Presets for eight H100: they compile, their environments open, and their memory fits."""

import re
from pathlib import Path

import pytest
import yaml

from components.config import load_config
from components.env_execution.environments import (
    open_benchmark,
    open_environments,
    training_tasks,
)
from components.preflight.environment import language_of
from components.preflight.findings import Level
from components.preflight.policies import check_policies
from components.preflight.shapes import KNOWN
from pipelines.__main__ import main
from pipelines.compiling import PIPELINES, compile
from tests.experiments.estimates import (
    FOLDER,
    PRESETS,
    PROFILE,
    block,
    capacity,
    in_readme,
    preset,
)
from tests.pipelines.experiment import pinned

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
PAPER = {
    "num_tasks": 128, "num_candidates": 4, "num_turns": 4, "temperature": 1.0, "top_p": 1.0,
    "top_k": 0, "alpha": 1.0, "beam": 1, "pick": "greedy", "dtype": "bfloat16",
}  # fmt: skip
SCRIPTS = {
    "minibatch_size": 64, "epochs": 1, "learning_rate": 1e-6, "weight_decay": 0.01,
    "max_grad_norm": 1.0, "clip_low": 0.2, "clip_high": 0.2, "kl_coef": 0.0, "entropy_coef": 0.0,
}  # fmt: skip


def test_every_folder_is_listed() -> None:
    studies = {path.parent.name for path in FOLDER.glob("*/study.yaml")}
    folders = {path.parent.name for path in FOLDER.glob("*/config.yaml")} | studies
    assert folders == {*PRESETS, *studies, "quickstart", "plan_path_smollm2", "mixture"}
    page = (FOLDER / "README.md").read_text()
    assert set(re.findall(r"\]\((\w+)/README\.md\)", page)) == folders


@pytest.mark.parametrize("name", PRESETS)
def test_settings_are_the_papers(name: str) -> None:
    config = load_config(FOLDER / name / "config.yaml")
    assert config.name == name and config.iterations == 150
    rollout, update = config.rollout.model_dump(), config.update.model_dump()
    assert {key: rollout[key] for key in PAPER} == PAPER
    assert {key: update[key] for key in SCRIPTS} == SCRIPTS
    assert len(config.policies) == 2 and sorted(config.roles.values()) == sorted(config.policies)
    assert config.evaluation.test != bool(config.evaluation.benchmarks)


@pytest.mark.parametrize("name", PRESETS)
def test_bases_are_pinned_as_the_page_says(name: str) -> None:
    config = load_config(FOLDER / name / "config.yaml")
    page = (FOLDER / "README.md").read_text()
    for policy in config.policies.values():
        model, _, commit = policy.base.removeprefix("hf://").partition("@")
        assert model in KNOWN and re.fullmatch("[0-9a-f]{40}", commit)
        assert f"| {model} | {commit} |" in page


@pytest.mark.parametrize("name", PRESETS)
def test_the_environment_opens(name: str) -> None:
    config = preset(name)
    members = open_environments(config)
    assert sum(map(len, training_tasks(members, config, 1).values())) == 128
    for benchmark in config.evaluation.benchmarks:
        assert open_benchmark(config, benchmark).env.roles == members[0].env.roles
    language = language_of(config)
    longest = max(len(prompt) for prompt in language.prompts)
    assert longest < config.rollout.max_prompt_tokens  # characters of the first turn, not tokens
    found, shapes = check_policies(config, language.prompts, language.words, offline=True)
    assert set(shapes) == set(config.policies)
    assert {finding.level for finding in found} == {Level.WARN}  # nobody was asked


@pytest.mark.parametrize("name", PRESETS)
def test_memory_fits_and_the_readme_says_so(name: str) -> None:
    found = list(capacity(preset(name)))
    levels = {finding.subject: finding.level for finding in found}
    assert Level.FAIL not in levels.values(), found
    updates = [level for subject, level in levels.items() if subject.startswith("update")]
    assert updates == [Level.OK, Level.OK]
    assert in_readme(name) == block(name), "python -m tests.experiments.estimates --write"


@pytest.mark.parametrize("name", ["sudoku_qwen3_1p7b", "code_qwen3_8b", "maporl_phi3_gsm8k"])
def test_an_iteration_compiles(name: str, tmp_path: Path) -> None:
    spec = compile(preset(name), pinned(PROFILE), tmp_path / "p.yaml")
    executors = spec["deploymentSpec"]["executors"]
    assert {"exec-rollout", "exec-update", "exec-evaluate"} <= set(executors)
    images = {executor["container"]["image"] for executor in executors.values()}
    assert all("@sha256:" in image for image in images)


@pytest.mark.full
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", PRESETS)
def test_every_pipeline_compiles(name: str, pipeline: str, tmp_path: Path) -> None:
    spec = compile(preset(name), pinned(PROFILE), tmp_path / "p.yaml", pipeline)
    assert spec["root"]["dag"]["tasks"]


@pytest.mark.parametrize("name", PRESETS)
def test_the_readme_shows_its_commands(name: str) -> None:
    page = (FOLDER / name / "README.md").read_text()
    assert page.count(f"experiments/{name}/config.yaml --profile {PROFILE}") >= 2
    options = yaml.safe_load((FOLDER / name / "config.yaml").read_text())["env"]["options"]
    if "problems" in options:
        assert f"--output {options['problems']}" in page
    assert "has not been run" in page


def test_benchmarks_have_prepare_commands() -> None:
    for name in PRESETS:
        content = yaml.safe_load((FOLDER / name / "config.yaml").read_text())
        page = (FOLDER / name / "README.md").read_text()
        for benchmark in content["evaluation"].get("benchmarks", {}).values():
            assert f"--output {benchmark['options']['problems']}" in page


def test_the_command_compiles_a_preset_without_its_problem_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop need not read the bucket that the cluster reads."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    images = [f"--set-image={key}={value}" for key, value in pinned(PROFILE).images.items()]
    file = str(FOLDER / "code_qwen3_8b" / "config.yaml")
    words = ["compile", file, "--profile", PROFILE, *images, "-o", str(tmp_path / "p.yaml")]
    assert main(words) == 0
    assert "s3://rolewise/problems/apps.parquet" in capsys.readouterr().err
    assert "exec-rollout" in (tmp_path / "p.yaml").read_text()
