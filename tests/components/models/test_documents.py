"""docs/models.md and docs/serving.md: their commands have the options they use, and links lead on.

tests/e2e/test_serving.py runs them.
"""

import re
import shlex
from pathlib import Path

import pytest

from pipelines.__main__ import _parser

ROOT = Path(__file__).parents[3]
PAGES = ("models.md", "serving.md")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def commands(page: str) -> list[list[str]]:
    """The words of all our commands in a page, after `python -m pipelines`."""
    text = (ROOT / "docs" / page).read_text()
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    start = "python -m pipelines"
    return [shlex.split(line)[3:] for line in blocks.splitlines() if line.startswith(start)]


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
