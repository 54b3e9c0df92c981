"""envs/README.md names every environment, and the README of each says what it checks."""

import re
from pathlib import Path

import pytest

from envs.__main__ import main
from envs.registry import BUILT_IN

FOLDER = Path(__file__).parent.parent.parent / "envs"
README = (FOLDER / "README.md").read_text()


def test_the_table_has_every_environment_and_no_other() -> None:
    rows = re.findall(r"^\| \[(\w+)\]\(\1/README\.md\) \|", README, re.MULTILINE)
    assert sorted(rows) == sorted(BUILT_IN)


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_environment_has_its_page(name: str) -> None:
    page = (FOLDER / name / "README.md").read_text()
    for heading in ("Rules", "Rewards", "Options", "What is checked"):
        assert re.search(rf"^## .*({heading})", page, re.MULTILINE), heading
    assert f"python -m envs play {name}" in page


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_the_commands_that_only_show_something_work(capsys: pytest.CaptureFixture[str]) -> None:
    lines = re.findall(r"^python -m envs (list.*?|play .*--auto) +#", README, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        assert main(line.split()) == 0
    assert "could not" not in capsys.readouterr().out
