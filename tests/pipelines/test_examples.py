"""The documents' own commands: the workflow's are executed, those of docs/cluster.md are parsed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from components.config import load_config
from pipelines.__main__ import _parser
from pipelines.faults import hint_of
from tests.doubles.kfp_api import serving
from tests.pipelines.experiment import IMAGES, POLICY
from tests.pipelines.on_cluster import Commits

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

ROOT = Path(__file__).parents[2]
CLUSTER = (ROOT / "docs/cluster.md").read_text()
OPERATING = (ROOT / "docs/operating.md").read_text()
WORKFLOW = yaml.safe_load((ROOT / "docs/examples/train.yml").read_text())


def commands(program: str, text: str = CLUSTER) -> list[str]:
    """The commands of that program in the blocks of a document."""
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    return [line for line in blocks.splitlines() if line.startswith(program)]


def test_the_documents_commands_have_the_options_they_use() -> None:
    for text, least in ((CLUSTER, 4), (OPERATING, 10)):
        found = commands("python -m pipelines", text)
        assert len(found) >= least
        for line in found:
            _parser().parse_args(shlex.split(line, comments=True)[3:])


def test_the_runbook_has_the_sentences_that_are_printed() -> None:
    """Each sentence of the table is in the code that prints it, or is a cluster's own word."""
    table = OPERATING.split("## It failed")[1].split("While a step")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    quoted = [sentence for cell in cells for sentence in re.findall(r"`(.+?)`", cell)]
    code = " ".join(path.read_text() for path in (ROOT / "pipelines").glob("*.py"))
    code += " ".join(path.read_text() for path in (ROOT / "components").rglob("*.py"))
    printed = re.sub(r"\W+", " ", re.sub(r"\{[^{}]*\}", "", re.sub(r'"\s+f?"', "", code)))
    assert len(quoted) > 20
    for sentence in quoted:
        parts = re.split(r"\.\.\.|\d+|'\w+'|\[.*\]|cpu, vllm", sentence)
        plain = [re.sub(r"\W+", " ", part).strip() for part in parts]
        missing = [part for part in plain if part not in printed]
        assert not missing or hint_of(sentence), f"{sentence}: {missing}"


def test_the_documents_file_names_exist() -> None:
    names = re.findall(r"`(?:tests/pipelines/)?(test_\w+\.py)`", CLUSTER)
    assert len(names) >= 7
    assert [name for name in names if not (ROOT / "tests/pipelines" / name).exists()] == []


def test_the_workflow_names_what_it_needs() -> None:
    job = WORKFLOW["jobs"]["train"]
    scripts = " ".join(step.get("run", "") for step in job["steps"])
    used = set(re.findall(r"\$\{?([A-Z_]+)", scripts))
    assert used <= set(job["env"])
    assert {"KF_PIPELINES_ENDPOINT", "KF_PIPELINES_TOKEN"} <= set(job["env"])


@pytest.mark.full
def test_the_workflows_commands_train(tmp_path: Path) -> None:
    folder = tmp_path / "experiments/mine"
    folder.mkdir(parents=True)
    content = {
        "name": "wired", "iterations": 1,
            "env": {"name": "plan_path", "options": {"prompt_style": "compact"}},
        "policies": {"solo": POLICY}, "roles": {"tool": "solo", "planner": "solo"},
        "storage": {"uri": "s3://replaced"},
    }  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(content))
    (folder / "images.yaml").write_text(yaml.safe_dump(IMAGES))
    store = f"file://{tmp_path}/store"  # no bucket here, so a profile that takes files
    config = load_config(folder / "config.yaml", [f"storage.uri={store}"])
    scripts = [step["run"] for step in WORKFLOW["jobs"]["train"]["steps"] if "run" in step][1:]
    with serving(Commits(config), token="t") as api:
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "ignore", "EXPERIMENT": "mine", "PROFILE": "cpu", "ITERATIONS": "2",
            "STORAGE_URI": store, "KF_PIPELINES_ENDPOINT": api.url, "KF_PIPELINES_TOKEN": "t",
        }  # fmt: skip
        for script in scripts:
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", script],
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        names = [run.body["display_name"].rpartition("wired-")[2] for run in api.runs]
    assert [name.partition("-")[2] for name in names] == [
        "preparation", "iteration-000001", "iteration-000002",
    ]  # fmt: skip
    assert (tmp_path / "build/training.yaml").exists() and "promotion: promoted" in done.stdout
    assert list(tmp_path.glob("build/runs/*/report.html"))
