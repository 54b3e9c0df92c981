"""The KFP functions hand paths to their mains, with the contract's names, and log the metrics."""

import inspect
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

dsl = pytest.importorskip("kfp.dsl")

STEPS = {
    "components.rollout": {
        "rollout": ({"state"}, {"scored", "episodes", "evaluation"}),
        "sample_turn": ({"state", "turns"}, {"candidates"}),
        "evaluate_team": ({"state"}, {"evaluation"}),
    },
    "components.env_execution": {
        "open_turns": ({"state"}, {"turns", "frontier", "scored"}),
        "execute_turn": (
            {"frontier", "candidates", "scored"},
            {"turns", "frontier", "scored", "episodes"},
        ),
    },
    "components.evaluation": {"evaluate": ({"state"}, {"evaluation", "report"})},
}
CASES = [(package, name) for package, steps in STEPS.items() for name in steps]


@pytest.mark.parametrize(("package", "name"), CASES)
def test_component_calls_its_main(
    package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []

    def main(*arguments: Any) -> dict[str, float]:
        called.extend(arguments)
        return {f"{name}/x": 1.0}

    monkeypatch.setattr(f"{package}.main.{name}", main)
    component = getattr(__import__(f"{package}.component", fromlist=[name]), name)
    parameters = inspect.signature(component.python_func).parameters
    artifacts = {
        parameter: dsl.Artifact(uri=str(tmp_path / parameter))
        for parameter in parameters
        if parameter not in {"config", "run", "iteration", "metrics"}
    }
    metrics = dsl.Metrics(uri=str(tmp_path / "metrics"))
    component.python_func(config="{}", run="r", iteration=2, metrics=metrics, **artifacts)
    config, run, iteration, inputs, outputs = called
    assert (config, run, iteration) == ("{}", "r", 2)
    assert (set(inputs), set(outputs)) == STEPS[package][name]
    paths = [*inputs.values(), *outputs.values()]
    assert len(set(paths)) == len(paths) == len(artifacts)
    assert metrics.metadata == {f"{name}/x": 1.0}


def test_importing_the_mains_loads_no_model_library() -> None:
    import subprocess
    import sys

    code = (
        "import sys, components.rollout.main, components.env_execution.main, "
        "components.evaluation.main; "
        "print([m for m in ('torch', 'vllm', 'transformers', 'mlflow', 'kfp') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
