"""docs/models.md is walked through; the commands of docs/serving.md have the options they use.

tests/test_promote_and_serve.py serves.
"""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from pipelines.__main__ import _parser
from tests.pipelines.experiment import IMAGES
from tests.walkthrough import Walk

ROOT = Path(__file__).parents[3]
PAGES = ("models.md", "serving.md")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def commands(page: str) -> list[list[str]]:
    """The words of all our commands in a page, after `python -m pipelines`."""
    text = (ROOT / "docs" / page).read_text()
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    lines = [line for line in blocks.splitlines() if line.startswith("python -m pipelines")]
    return [shlex.split(line, comments=True)[3:] for line in lines]


@pytest.mark.parametrize("page", PAGES)
def test_commands_have_the_options_they_use(page: str) -> None:
    found = commands(page)
    assert len(found) >= 4
    for words in found:
        assert _parser().parse_args(words).verb


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)]
    assert links and all((ROOT / "docs" / link).exists() for link in links)


@pytest.mark.full
def test_a_model_is_brought_trained_and_taken_out(tmp_path: Path) -> None:
    """An instruct model's GGUF file becomes a team, and the team the base of the next one."""
    (tmp_path / "images.yaml").write_text(yaml.safe_dump(IMAGES))
    walk = Walk(ROOT / "docs" / "models.md", tmp_path)
    walk.through()
    trained = walk.printed(" run ")
    moved = re.search(r"adapter changed by (\S+) of", trained)
    assert moved and float(moved[1]) > 0, trained
    again = walk.printed(" import-model build/mine/")
    assert "licence: Apache-2.0" in again and "base: file://build/store/models/" in again
    assert again.splitlines()[-1] in walk.printed(" --list").replace("  base", "base")
    assert (tmp_path / "build/mine/policies/solver/model.safetensors").exists()
    assert [line.split()[3] for line in walk.left_out] == ["import-model"]  # of a gated model
