"""A tiny model from scratch plays Plan-Path: both placements draw the same tokens from one seed."""

import json
from pathlib import Path
from typing import Any

import pytest

from components import records
from components.commit.main import commit_initial
from components.config import ExperimentConfig, parse_config
from components.env_execution.main import execute_turn, open_turns
from components.evaluation.main import evaluate
from components.records import Episode, Scored
from components.rollout.main import rollout, sample_turn
from components.update.initialise.main import initialise

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

INIT = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_layers": 1,
    "num_heads": 1,
    "num_kv_heads": 1,
}
CONTENT: dict[str, Any] = {
    "name": "tiny",
    "env": {
        "name": "plan_path",
        "options": {
            "height": 6,
            "width": 6,
            "num_walls": 10,
            "tool": "search",
            "action_language": "cells",
            "prompt_style": "compact",
        },
    },
    "policies": {name: {"base": "init://", "init": INIT} for name in ("tool", "planner")},
    "roles": {"tool": "tool", "planner": "planner"},
    "rollout": {
        "engine": "transformers",
        "num_tasks": 3,
        "num_candidates": 3,
        "num_turns": 2,
        "max_new_tokens": 6,
        "max_prompt_tokens": 200,
    },
    "evaluation": {"num_tasks": 4, "swapped": True},
}


def begin(folder: Path) -> tuple[ExperimentConfig, str]:
    """A configuration that stores under `folder`, and the path of its state 0."""
    storage = {"uri": f"file://{folder}/store", "cache": f"{folder}/cache"}
    tracking = {"uri": f"sqlite:///{folder}/mlflow.db"}
    config = parse_config(CONTENT | {"storage": storage, "tracking": tracking})
    policies, state = str(folder / "policies.json"), str(folder / "state.json")
    initialise(config.to_json(), "r", 0, {}, {"policies": policies})
    commit_initial(config.to_json(), "r", 0, {"policies": policies}, {"state": state})
    return config, state


def test_fused_and_staged_draw_the_same_tokens(tmp_path: Path) -> None:
    config, state = begin(tmp_path)
    content = config.to_json()
    names = ("scored", "episodes", "evaluation")
    fused = {name: str(tmp_path / f"fused_{name}") for name in names}
    metrics = rollout(content, "r", 1, {"state": state}, fused)
    at = {name: str(tmp_path / f"0_{name}") for name in ("turns", "frontier", "scored")}
    open_turns(content, "r", 1, {"state": state}, at)
    for phase in range(4):
        candidates = {"candidates": str(tmp_path / f"{phase}_candidates")}
        sample_turn(content, "r", 1, {"state": state, "turns": at["turns"]}, candidates)
        inputs = {name: at[name] for name in ("frontier", "scored")} | candidates
        at = {
            name: str(tmp_path / f"{phase + 1}_{name}")
            for name in ("turns", "frontier", "scored", "episodes")
        }
        execute_turn(content, "r", 1, inputs, at)
    rows = records.read_rows(fused["scored"], Scored)
    assert records.read_rows(at["scored"], Scored) == rows
    assert records.read_rows(at["episodes"], Episode) == records.read_rows(
        fused["episodes"], Episode
    )
    assert len({row.candidate.text for row in rows}) > len(rows) // 2
    assert len(records.read_rows(fused["evaluation"], Episode)) == 4
    assert metrics["rollout/tokens_per_s"] > 0.0


@pytest.mark.full
def test_evaluation_of_an_unpromoted_team_against_its_start(tmp_path: Path) -> None:
    config, state = begin(tmp_path)
    outputs = {name: str(tmp_path / name) for name in ("evaluation", "report")}
    evaluate(config.to_json(), "r", 0, {"state": state}, outputs)
    report = json.loads(Path(outputs["report"]).read_text())
    assert report["reference"] == "initial"
    assert set(report["benchmarks"]) == {
        "validation", "validation/reference", "validation/swapped", "test",
    }  # fmt: skip
    same = report["benchmarks"]["validation"]
    assert report["benchmarks"]["validation/reference"] == same
