"""What the driver starts, given what is committed. The pipelines are a fake that commits."""

import hashlib
import io
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.manifests import OutputRef, StepManifest, output_key, step_key
from components.policies import PolicyRef
from components.state import TrainingState, latest_iteration, write_state
from components.storage import Store, open_store
from pipelines.display import Display
from pipelines.driver import (
    CLOSING,
    Options,
    metrics_of,
    promote,
    run_name,
    summary,
    train,
    verdict,
)
from pipelines.runner import StepFailed
from tests.pipelines.experiment import make_config


@dataclass
class Committing:
    """Stands for a runner: writes the state or verdict that the pipeline would write."""

    config: ExperimentConfig
    fail: list[int] = field(default_factory=list)
    """Iterations that fail once each."""
    kill_before_verdict: bool = False
    calls: list[tuple[str, int, bool]] = field(default_factory=list)

    def __call__(self, pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        promote = pipeline == "promotion" or bool(arguments.get("promote"))
        self.calls.append((pipeline, iteration, promote))
        if iteration in self.fail:
            self.fail.remove(iteration)
            raise StepFailed(f"error: update (run r, iteration {iteration}): no luck")
        store, run = open_store(self.config.storage), run_name(self.config, None)
        if pipeline != "promotion":
            write_state(store, make_state(self.config, run, iteration))
        if promote and not self.kill_before_verdict:
            write_verdict(store, self.config, run, iteration)


def make_state(config: ExperimentConfig, run: str, iteration: int) -> TrainingState:
    ref = PolicyRef("tool", iteration, "file:///p", "0" * 64, 1)
    return TrainingState(run, iteration, config.digest(), {"tool": ref}, {}, {"tool": ref}, 0)


def write_verdict(store: Store, config: ExperimentConfig, run: str, iteration: int) -> None:
    """A committed promote step."""
    data = json.dumps({"promoted": True, "reasons": []}).encode()
    key = step_key(config, run, iteration, "promote", {"report": str(time.time())})
    store.write(output_key(key, "verdict"), data)
    ref = OutputRef(len(data), hashlib.sha256(data).hexdigest())
    manifest = StepManifest(
        run, iteration, "promote", config.digest(), {}, {}, {"verdict": ref}, {}, time.time()
    )
    store.write(key, json.dumps(asdict(manifest)).encode())


@pytest.fixture
def config(tmp_path: Path) -> ExperimentConfig:
    return make_config(storage={"uri": f"file://{tmp_path}/store"})


def drive(config: ExperimentConfig, start: Committing, **options: Any) -> str:
    """Run the driver and return what it printed."""
    out = io.StringIO()
    train(config, Options(**options), Display(out, config.iterations), start)
    return out.getvalue()


def longer(config: ExperimentConfig, iterations: int) -> ExperimentConfig:
    return config.model_copy(update={"iterations": iterations})


def test_prepares_then_iterates_and_promotes_the_last(config: ExperimentConfig) -> None:
    start = Committing(config)
    drive(config, start)
    assert start.calls == [
        ("preparation", 0, False),
        ("iteration", 1, False),
        ("iteration", 2, False),
        ("iteration", 3, True),
    ]


def test_a_finished_run_does_nothing_and_says_so(config: ExperimentConfig) -> None:
    drive(config, Committing(config))
    again = Committing(config)
    assert "all 3 iterations are done, nothing was run" in drive(config, again)
    assert again.calls == []


def test_goes_on_where_a_failure_stopped_it(config: ExperimentConfig) -> None:
    with pytest.raises(StepFailed, match="no luck"):
        drive(config, Committing(config, fail=[2]))
    assert latest_iteration(open_store(config.storage), run_name(config, None)) == 1
    again = Committing(config)
    drive(config, again)
    assert again.calls == [("iteration", 2, False), ("iteration", 3, True)]


def test_more_iterations_extend_a_finished_run(config: ExperimentConfig) -> None:
    drive(config, Committing(config))
    start = Committing(longer(config, 4))
    drive(start.config, start)
    assert start.calls == [("iteration", 4, True)]


def test_fewer_iterations_than_done_do_nothing(config: ExperimentConfig) -> None:
    drive(config, Committing(config))
    start = Committing(longer(config, 2))
    assert "nothing was run" in drive(start.config, start)


def test_a_missing_verdict_is_asked_for(config: ExperimentConfig) -> None:
    drive(config, Committing(config, kill_before_verdict=True))
    again = Committing(config)
    drive(config, again)
    assert again.calls == [("promotion", 3, True)]
    assert verdict(open_store(config.storage), run_name(config, None), 3) == {
        "promoted": True,
        "reasons": [],
    }


def test_retries_repeat_the_iteration(config: ExperimentConfig) -> None:
    start = Committing(config, fail=[2, 2])
    text = drive(config, start, retries=2)
    assert [call[1] for call in start.calls] == [0, 1, 2, 2, 2, 3]
    assert "retry 2 of 2" in text


def test_retries_are_limited(config: ExperimentConfig) -> None:
    with pytest.raises(StepFailed):
        drive(config, Committing(config, fail=[2, 2]), retries=1)


@pytest.mark.parametrize("iteration", [-1, 4])
def test_a_team_that_was_never_made_is_not_promoted(
    config: ExperimentConfig, iteration: int
) -> None:
    drive(config, Committing(config))
    words = f"--iteration {iteration}: run 'wired-.*' has no state of it in file.*; expected 0 to 3"
    with pytest.raises(ConfigError, match=words):
        promote(config, Options(), iteration, Display(io.StringIO(), 3))


def test_a_name_belongs_to_one_configuration(config: ExperimentConfig) -> None:
    drive(config, Committing(config), name="mine")
    other = config.model_copy(update={"seed": 1})
    with pytest.raises(ConfigError, match="seed: was 0, is 1"):
        drive(other, Committing(other), name="mine")


def test_the_gate_is_asked_by_the_runs_own_configuration(config: ExperimentConfig) -> None:
    drive(config, Committing(config))
    other = config.model_copy(update={"seed": 1})
    with pytest.raises(ConfigError, match="seed: was 0, is 1"):
        promote(other, Options(name=run_name(config, None)), None, Display(io.StringIO(), 3))


def test_success_before_an_iteration_is_not_that_of_its_closing_evaluation(
    config: ExperimentConfig,
) -> None:
    store, name = open_store(config.storage), "evaluation/validation/success"
    for step, success in {"rollout": 0.6, "evaluate": 0.69}.items():
        manifest = StepManifest("r", 3, step, "", {}, {}, {}, {name: success}, time.time())
        store.write(step_key(config, "r", 3, step, {}), json.dumps(asdict(manifest)).encode())
    line = summary("iteration 3/3", metrics_of(store, "r", 3, CLOSING), 1)
    assert line.startswith("iteration 3/3: success before it 60.0%")
    assert metrics_of(store, "r", 3)[name] == 0.69


def test_summary_names_what_it_has() -> None:
    metrics = {
        "evaluation/validation/success": 0.615,
        "evaluation/validation/success_low": 0.546,
        "evaluation/validation/success_high": 0.68,
        "rollout/train/turns/mean": 1.8,
        "rollout/tool/reward/mean": 0.31,
        "rollout/planner/reward/mean": 0.42,
    }
    assert summary("iteration 3/5", metrics, 12.3) == (
        "iteration 3/5: success before it 61.5% (54.6% to 68.0%) | 1.80 turns | "
        "reward tool 0.310, planner 0.420 | 12 s"
    )
    mixed = {
        "evaluation/validation/success": 0.5, "evaluation/validation/success_low": 0.4,
        "evaluation/validation/success_high": 0.6, "evaluation/validation/maths/success": 0.25,
        "evaluation/validation/maths/success_low": 0.1, "evaluation/validation/boxes/success": 1.0,
        "evaluation/validation/reference/success": 0.0,
    }  # fmt: skip
    assert summary("iteration 2/5", mixed, 12.3) == (
        "iteration 2/5: success before it 50.0% (40.0% to 60.0%; maths 25.0%; boxes 100.0%) | 12 s"
    )
    assert summary("iteration 3/5", {}, 61) == "iteration 3/5: 1 min 01 s"
