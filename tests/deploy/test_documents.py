"""docs/deployment.md: its commands have the options they use, and what it names exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import load_config
from pipelines.__main__ import _parser
from pipelines.booking import runtime_of
from pipelines.compiling import compile, open_profile
from pipelines.steps import STEPS
from tests.deploy.rendered import FOLDER
from tests.deploy.test_network import PROGRAMS

ROOT = FOLDER.parent
PAGE = (ROOT / "docs" / "deployment.md").read_text()
LAPTOP = "deploy/overlays/laptop/profile.yaml"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def _commands(program: str) -> list[list[str]]:
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)).replace("\\\n", " ")
    lines = [line for line in blocks.splitlines() if line.startswith(program)]
    return [shlex.split(line, comments=True) for line in lines]


def test_commands_have_the_options_they_use() -> None:
    found = _commands("python -m pipelines")
    assert len(found) == 3
    for words in found:
        options = _parser().parse_args(words[3:])
        load_config(ROOT / options.config, options.overrides)
        open_profile(options.profile)


def test_files_that_it_names_exist() -> None:
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", PAGE)]
    assert all((ROOT / "docs" / link).exists() for link in links)
    for words in _commands("kubectl kustomize") + _commands("kubectl apply"):
        assert (ROOT / words[-1] / "kustomization.yaml").exists()
    components = {path.name for path in (FOLDER / "components").iterdir()}
    assert components == set(re.findall(r"deploy/components/([\w-]+)\)", PAGE))


def test_yaml_of_a_profile_is_one() -> None:
    blocks: list[Any] = [
        yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    ]
    (steps,) = [block["steps"] for block in blocks if "steps" in block]
    assert set(steps) <= set(STEPS)
    queue = "kueue.x-k8s.io/queue-name"
    assert all(step["labels"][queue] == "rolewise" for step in steps.values())


def test_the_laptops_profile_compiles_and_labels_programs(tmp_path: Path) -> None:
    profile = open_profile(str(ROOT / LAPTOP))
    for name, step in STEPS.items():
        settings = profile.settings(name, runtime_of(step))
        assert (settings.labels.get("rolewise.dev/programs") == "true") == (name in PROGRAMS), name
        assert settings.env["AWS_ENDPOINT_URL"] and list(settings.secrets) == ["rolewise-storage"]
    config = load_config(ROOT / "experiments/quickstart/config.yaml")
    compile(config, profile, tmp_path / "p.yaml")
