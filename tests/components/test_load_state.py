"""The first step judges what somebody typed as run parameters: one sentence each."""

from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig
from components.errors import RolewiseError
from components.load_state.main import load_state
from components.state import TrainingState, write_state
from components.storage import open_store
from tests.doubles.experiment import make_config, make_policy


@pytest.fixture
def config(tmp_path: Path) -> ExperimentConfig:
    """Three iterations, of which the first is committed."""
    config = make_config(iterations=3, storage={"uri": f"file://{tmp_path}/store"})
    policies = {name: make_policy(name) for name in ("tool", "plan")}
    for iteration in (0, 1):
        state = TrainingState("r", iteration, config.digest(), policies, {}, policies, 4)
        write_state(open_store(config.storage), state)
    return config


def load(config: ExperimentConfig, run: str, iteration: Any, **options: Any) -> None:
    target = Path(config.storage.uri.removeprefix("file://")).parent / "state"
    load_state(config.to_json(), run, iteration, {}, {"state": str(target)}, **options)


@pytest.mark.parametrize(
    ("run", "iteration", "words"),
    [
        ("r", 0, "iteration is 0: expected 1 to 3; iteration 0 is the preparation pipeline's"),
        ("r", -2, "iteration is -2: expected 1 to 3; iteration 0 is the preparation pipeline's"),
        ("r", 4, "iteration is 4: expected 1 to 3; for more, compile again with --set iteratio"),
        ("r", 1.5, "iteration is 1.5: expected a whole number"),
        ("r", True, "iteration is True: expected a whole number"),
        ("r", 3, "run 'r': no state of iteration 2 in .*: run iteration 2 next"),
        ("other", 1, "run 'other': no state of iteration 0 in .*: run the preparation pipeline"),
        ("a b", 1, "run name 'a b': expected 1-100 letters, digits"),
        ("", 1, "run name '': expected 1-100 letters, digits"),
    ],
)
def test_a_parameter_that_cannot_be_is_one_sentence(
    config: ExperimentConfig,
    capsys: pytest.CaptureFixture[str],
    run: str,
    iteration: Any,
    words: str,
) -> None:
    with pytest.raises(RolewiseError, match=words):
        load(config, run, iteration)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: load_state (run {run}, iteration {iteration}): ")


def test_the_iterations_own_state_may_be_any(config: ExperimentConfig) -> None:
    load(config, "r", 0, previous=False)
    load(config.model_copy(update={"iterations": 1}), "r", 1, previous=False)
    with pytest.raises(RolewiseError, match="iteration is -1: expected 0 or more"):
        load(config, "r", -1, previous=False)
    with pytest.raises(RolewiseError, match="no state of iteration 2"):
        load(config, "r", 2, previous=False)


def test_the_next_iteration_loads_the_one_before(config: ExperimentConfig) -> None:
    load(config, "r", 2)
