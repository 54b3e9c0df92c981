"""docs/reading_a_report.md, word by word, with smaller runs; its pictures and links exist."""

import re
import shlex
from pathlib import Path

import pytest

from pipelines.__main__ import main
from tests.documents import commands

ROOT = Path(__file__).parent.parent
PAGES = ("reading_a_report.md", "compare_in_mlflow.md")
SMALL = (
    "warm_start.steps=5", "warm_start.num_tasks=16", "rollout.num_tasks=3", "rollout.num_turns=2",
    "rollout.engine=transformers", "evaluation.num_tasks=4", "evaluation.benchmarks={}",
)  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_pictures_and_pages_that_it_names_exist(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links and all((ROOT / "docs" / link).exists() for link in links)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # of the model libraries, which the runs load here
def test_its_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("experiments", "components", "envs", "pipelines"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/build/mlflow.db")
    lines = [line for line in commands(ROOT / "docs" / PAGES[0]) if line.startswith("python")]
    assert len(lines) == 7
    for line in lines:
        words = shlex.split(line)
        assert words[:3] == ["python", "-m", "pipelines"]
        small = [word for value in SMALL for word in ("--set", value)] if words[3] == "run" else []
        assert main([*words[3:], *small]) == 0, line
    for page in ("runs/reading-0/report", "reports/reading-0-and-1-more-ffbf9100", "priced",
                 "priced-episodes", "second", "runs/reading-0/episodes-000003",
                 "runs/reading-1/episodes"):  # fmt: skip
        assert (tmp_path / "build" / f"{page}.html").exists(), page
    priced = (tmp_path / "build" / "priced.html").read_text()
    assert "GPU-hours" in priced
