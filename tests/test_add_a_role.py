"""docs/add_a_role.md, word by word, with smaller trainings; its other mappings compile.

What is added to a command is in SMALL alone. The page's figures are those of the whole commands.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.config import parse_config
from pipelines.compiling import compile
from tests.documents import blocks
from tests.walkthrough import ROOT, Walk

PAGE = ROOT / "docs" / "add_a_role.md"
SMALL = (
    "warm_start.steps=30", "warm_start.num_tasks=64", "rollout.num_tasks=4",
    "rollout.num_candidates=4", "evaluation.num_tasks=8", "promotion.min_gain=-1",
)  # fmt: skip
FOLDERS = ("components", "envs", "pipelines")


@dataclass
class Smaller(Walk):
    """Where the page trains, with fewer tasks and steps, and a gate that lets every team pass."""

    def _execute(self, text: str, code: int) -> None:
        added = " ".join(f"--set {value}" for value in SMALL if " run " in text)
        super()._execute(f"{text} {added}".strip(), code)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    folder = tmp_path_factory.mktemp("add_a_role")
    for name in FOLDERS:  # of the repository's root, where a reader works
        (folder / name).symlink_to(ROOT / name)
    walk = Smaller(PAGE, folder)
    walk.through()
    return walk


@pytest.mark.full
def test_nothing_is_left_out(walked: Walk) -> None:
    assert walked.left_out == []
    assert walked.printed("pytest").splitlines()[-1].startswith("2 passed")


@pytest.mark.full
def test_all_three_roles_are_trained(walked: Walk) -> None:
    printed = walked.printed("--name reviewed")
    header = next(line for line in printed.splitlines() if line.startswith("iteration  success"))
    assert header.split()[5:8] == ["r(tool)", "r(critic)", "r(planner)"]
    assert re.search(r"critic: .* groups as critic, ", printed)


@pytest.mark.full
def test_silence_is_measured(walked: Walk) -> None:
    printed = walked.printed("report reviewed deaf two")
    assert "unheard" in printed and "contradicted" in printed
    assert "[reviewed]" in printed and "[deaf]" in printed


@pytest.mark.full
def test_the_old_teams_champion_stays(walked: Walk) -> None:
    assert "two@4" in walked.printed("history walkers")
    assert "reviewed" not in walked.printed("history walkers")


def files() -> dict[str, Any]:
    """The page's YAML blocks: by file name, and those without one by their policies."""
    found = [block.text for block in blocks(PAGE) if block.language == "yaml"]
    named = {text.split()[1] if text.startswith("# ") else text: text for text in found}
    return {name: yaml.safe_load(text) for name, text in named.items()}


def test_the_other_mappings_are_experiments(tmp_path: Path) -> None:
    content = files()
    whole = content.pop("my_envs/reviewed.yaml")
    content.pop("my_envs/two.yaml")
    shared, adapters = (parse_config({**whole, **sections}) for sections in content.values())
    assert shared.roles == {"tool": "tool", "critic": "planner", "planner": "planner"}
    assert all(policy.lora for policy in adapters.policies.values())
    assert len({policy.base for policy in adapters.policies.values()}) == 1
    for config in (shared, adapters):
        assert set(config.roles) == {"tool", "critic", "planner"}
        compile(config, "cpu", tmp_path / "iteration.yaml")


def test_the_teams_differ_in_the_role_alone() -> None:
    two, three = (parse_config(files()[f"my_envs/{name}.yaml"]) for name in ("two", "reviewed"))
    assert (two.rollout, two.update, two.warm_start) == (
        three.rollout, three.update, three.warm_start,
    )  # fmt: skip
    assert {**three.policies, "critic": None} == {**two.policies, "critic": None}


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())
    assert links and [link for link in links if not (PAGE.parent / link).exists()] == []
