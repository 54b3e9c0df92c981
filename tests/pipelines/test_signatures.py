"""The interface of every component, as a table. Compiled pipelines in use depend on it."""

import pytest

from pipelines.steps import STEPS

ARTIFACT, DATASET, METRICS, HTML = (
    f"system.{kind}@0.0.1" for kind in ("Artifact", "Dataset", "Metrics", "HTML")
)
COMMON = {"config": "String", "run": "String", "iteration": "Integer"}
LIST = "List[String]"

SIGNATURES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "initialise": ({}, {"policies": ARTIFACT}),
    "warm_start": ({"policies": ARTIFACT}, {"warmed": ARTIFACT}),
    "commit_initial": ({"policies": ARTIFACT}, {"state": ARTIFACT}),
    "load_state": ({"previous": "Boolean"}, {"state": ARTIFACT}),
    "rollout": (
        {"state": ARTIFACT},
        {"scored": DATASET, "episodes": DATASET, "evaluation": DATASET},
    ),
    "open_turns": (
        {"state": ARTIFACT},
        {"turns": DATASET, "frontier": ARTIFACT, "scored": DATASET},
    ),
    "sample_turn": ({"state": ARTIFACT, "turns": DATASET}, {"candidates": DATASET}),
    "execute_turn": (
        {"frontier": ARTIFACT, "candidates": DATASET, "scored": DATASET},
        {
            "next_turns": DATASET,
            "next_frontier": ARTIFACT,
            "next_scored": DATASET,
            "episodes": DATASET,
        },
    ),
    "evaluate_team": ({"state": ARTIFACT}, {"evaluation": DATASET}),
    "group": ({"scored": DATASET}, {"samples": DATASET, "certificate": ARTIFACT, "html": HTML}),
    "update": (
        {"policies": LIST, "state": ARTIFACT, "samples": DATASET, "certificate": ARTIFACT},
        {"result": ARTIFACT, "Output": "String"},
    ),
    "update_on_nodes": (
        {
            "policies": LIST,
            "pod": "String",
            "state": ARTIFACT,
            "samples": DATASET,
            "certificate": ARTIFACT,
        },
        {"result": ARTIFACT, "Output": "String"},
    ),
    "commit": (
        {
            "updates": LIST,
            "state": ARTIFACT,
            "samples": DATASET,
            "certificate": ARTIFACT,
            "episodes": DATASET,
            "evaluation": DATASET,
        },
        {"new_state": ARTIFACT},
    ),
    "evaluate": ({"state": ARTIFACT}, {"evaluation": DATASET, "report": ARTIFACT}),
    "promote": (
        {"state": ARTIFACT, "evaluation": DATASET, "report": ARTIFACT},
        {"verdict": ARTIFACT, "html": HTML},
    ),
}
"""Step -> inputs besides COMMON, outputs besides `metrics`."""


def test_the_table_is_complete() -> None:
    assert set(SIGNATURES) == set(STEPS)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name: str) -> None:
    spec = STEPS[name].component_spec
    inputs = {key: value.type for key, value in (spec.inputs or {}).items()}
    outputs = {key: value.type for key, value in (spec.outputs or {}).items()}
    assert inputs == COMMON | SIGNATURES[name][0]
    assert outputs == {"metrics": METRICS} | SIGNATURES[name][1]


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_input_is_documented(name: str) -> None:
    inputs = STEPS[name].component_spec.inputs
    assert [key for key, value in inputs.items() if not value.description] == []
