"""Preflight and the pages of a run with several environments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig, parse_config
from components.preflight.capacity import Gpus, check_cost
from components.preflight.environment import check_environment, language_of
from components.preflight.findings import Level
from components.tracking import description
from components.update.initialise.main import first_prompts, lexicon_of
from components.update.warm_start.main import _demonstrations
from envs.base import HasLexicon
from envs.registry import make_environment
from tests.components.preflight.test_checks import COMPACT, _config

BOXES = {
    "action_language": "pushes", "tool": "search", "prompt_style": "compact", "num_walls": 3,
    "min_pushes": 3, "max_words": 12,
}  # fmt: skip


def mixed(tmp_path: Path, **sections: Any) -> ExperimentConfig:
    """Grids three times as often as boxes."""
    single = _config(tmp_path).model_dump(mode="json", exclude={"env"})
    envs = {
        "grids": {"name": "plan_path", "options": COMPACT, "weight": 3},
        "sokoban": {"options": BOXES, "num_evaluation_tasks": 7},
    }
    return parse_config(single | {"envs": envs} | sections)


def test_every_environment_has_its_lines(tmp_path: Path) -> None:
    benchmarks = {"far": {"env": "sokoban", "options": {"min_pushes": 4}, "num_tasks": 6}}
    config = mixed(tmp_path, evaluation={"num_tasks": 5, "benchmarks": benchmarks})
    found = list(check_environment(config))
    lines = {finding.subject: finding.message for finding in found}
    roles = "serial: tool = tool, planner = planner"
    assert lines == {
        "environment grids": f"plan_path 1, {roles}, 75.0% of the tasks",
        "training tasks grids": "3 drawn",
        "validation tasks grids": "5 drawn",
        "test tasks grids": "5 drawn",
        "environment sokoban": f"sokoban 1, {roles}, 25.0% of the tasks",
        "training tasks sokoban": "1 drawn",
        "validation tasks sokoban": "7 drawn",
        "test tasks sokoban": "7 drawn",
        "benchmark far tasks": "6 drawn",
    }
    assert {finding.level for finding in found} == {Level.OK}


def words(name: str, options: Mapping[str, Any]) -> set[str]:
    env = make_environment(name, options, "dense")
    assert isinstance(env, HasLexicon)
    return set(env.lexicon())


def test_one_tokenizer_knows_all_words(tmp_path: Path) -> None:
    config = mixed(tmp_path)
    union = words("plan_path", COMPACT) | words("sokoban", BOXES)
    assert set(lexicon_of(config)) == union and len(lexicon_of(config)) == len(union)
    language = language_of(config)
    assert language.words == len(union)
    assert {word for prompt in language.prompts for word in prompt.split()} <= union
    assert len(first_prompts(config, "tool")) == 2


def test_demonstrations_are_mixed_as_the_tasks_are(tmp_path: Path) -> None:
    config = mixed(tmp_path, warm_start={"num_tasks": 40}, rollout={"num_turns": 1})
    assert config.warm_start
    shown = _demonstrations(config, config.warm_start)
    boxes = ["boxes" in item["messages"][0]["content"].split() for item in shown["tool"]]
    assert (len(boxes), sum(boxes)) == (40, 10)


def test_cost_counts_each_environments_turns(tmp_path: Path) -> None:
    """3 tasks of 4 turns and 1 of 9, two roles, 2 answers of 64 tokens: 21 turns x 256 tokens."""
    config = mixed(tmp_path)
    longer = config.model_dump(mode="json")
    longer["envs"]["sokoban"]["num_turns"] = 9
    (found,) = check_cost(parse_config(longer), {}, Gpus(1, 0.0), Gpus(1, 0.0))
    assert found.message == f"at most {21 * 256 / 1e6:.3g} M generated tokens an iteration"


def test_datasets_and_tags_name_every_environment(tmp_path: Path) -> None:
    config = mixed(tmp_path)
    names = [stream.name for stream in description.streams(config)]
    splits = ("train", "validation", "test")
    assert names == [f"{env}/{split}" for env in ("grids", "sokoban") for split in splits]
    tags = description.run_tags(config, "r")
    assert tags["rolewise.env"] == "grids + sokoban"
    datasets = {name for name in tags if name.startswith("rolewise.dataset.")}
    assert datasets == {
        f"rolewise.dataset.{context}.{env}"
        for env in ("grids", "sokoban")
        for context in ("training", "validation", "test")
    }
    assert "`grids + sokoban`" in description.training_note(config, "r")
    assert description.params(config)["envs.grids.weight"] == "3.0"
    single = description.run_tags(_config(tmp_path), "r")
    assert {name for name in single if name.startswith("rolewise.dataset.")} == {
        "rolewise.dataset.training", "rolewise.dataset.validation", "rolewise.dataset.test",
    }  # fmt: skip
