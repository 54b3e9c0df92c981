"""Committing iterations: in order, once, and never half."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from components import records
from components.commit import main
from components.commit.main import commit, commit_initial
from components.config import ExperimentConfig, parse_config
from components.errors import ConfigError, PolicyError, RecordError, StorageError
from components.load_state.main import load_state
from components.manifests import read_manifest, step_key
from components.policies import FolderRef
from components.records import Episode, Sample
from components.settings import StorageConfig
from components.state import latest_iteration, read_state
from components.step import input_digests, run_step
from components.storage import open_store
from tests.doubles.experiment import content, make_policy


@dataclass
class Tracking:
    """Records what it is asked to log; its ids count the iterations' first logs."""

    logged: list[dict[str, float]] = field(default_factory=list)

    def __call__(
        self, config: ExperimentConfig, run: str, iteration: int, metrics: Mapping[str, float],
        *, samples: Any, episodes: Any, previous: Mapping[str, str],
    ) -> dict[str, str]:  # fmt: skip
        self.logged.append(dict(metrics))
        return {"training_run_id": f"{run}", "iteration_run_id": f"{run}/{iteration}"}


class Run:
    """The steps around commit, with an update that only raises versions."""

    def __init__(self, folder: Path, settings: StorageConfig, **changes: Any) -> None:
        self.folder = folder
        self.settings = settings
        self.config = parse_config(content(storage=settings.model_dump(), **changes)).to_json()
        self.store = open_store(settings)
        records.write(self.path("samples"), Sample, [])
        records.write(self.path("episodes"), Episode, [])
        records.write(self.path("evaluation"), Episode, [])
        Path(self.path("certificate")).write_text("{}")

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def begin(self, *names: str) -> None:
        policies = {name: make_policy(name).to_json() for name in names or ("tool", "plan")}
        Path(self.path("policies")).write_text(json.dumps({"policies": policies}))
        outputs = {"state": self.path("state0")}
        commit_initial(self.config, "r", 0, {"policies": self.path("policies")}, outputs)

    def update(self, iteration: int, policy: str) -> str:
        def compute(_: Any) -> Mapping[str, float]:
            optimizer = FolderRef("file://store/optimizers/x", "1" * 64, 7)
            result = {
                "policies": {policy: make_policy(policy, iteration).to_json()},
                "optimizers": {policy: asdict(optimizer)},
            }
            Path(self.path("result")).write_text(json.dumps(result))
            return {f"update/{policy}/loss": 0.5}

        name, inputs = f"update-{policy}", {"state": self.path("state")}
        outputs = {"result": self.path("result")}
        run_step(name, self.config, "r", iteration, inputs, outputs, compute)
        parsed = parse_config(self.config)
        return step_key(parsed, "r", iteration, name, input_digests(inputs))

    def iterate(self, iteration: int) -> None:
        load_state(self.config, "r", iteration, {}, {"state": self.path("state")})
        updates = [self.update(iteration, policy) for policy in ("tool", "plan")]
        names = ("state", "samples", "certificate", "episodes", "evaluation")
        inputs = {name: self.path(name) for name in names}
        outputs = {"new_state": self.path("new_state")}
        commit(self.config, "r", iteration, inputs, outputs, updates=updates)


@pytest.fixture
def tracking(monkeypatch: pytest.MonkeyPatch) -> Tracking:
    recorder = Tracking()
    monkeypatch.setattr("components.tracking.log_iteration", recorder)
    monkeypatch.setattr("components.tracking.check_succession", lambda config: None)
    return recorder


@pytest.fixture
def run(file_settings: StorageConfig, tmp_path: Path, tracking: Tracking) -> Run:
    return Run(tmp_path, file_settings)


def test_iterations_follow_each_other(run: Run, tracking: Tracking) -> None:
    run.begin()
    run.iterate(1)
    run.iterate(2)
    state = read_state(run.store, "r", 2)
    assert {name: ref.version for name, ref in state.policies.items()} == {"tool": 2, "plan": 2}
    assert {ref.version for ref in state.initial.values()} == {0}
    assert state.next_task == 2 * 4
    assert state.mlflow == {"training_run_id": "r", "iteration_run_id": "r/2"}
    assert Path(run.path("new_state")).read_bytes() == run.store.read("runs/r/state/000002.json")


def test_all_steps_metrics_are_logged(run: Run, tracking: Tracking) -> None:
    run.begin()
    run.iterate(1)
    _, logged = tracking.logged
    assert logged["update/tool/loss"] == logged["update/plan/loss"] == 0.5
    assert {"system/update-tool/wall_s", "system/load_state/cpu_s"} <= set(logged)
    committed = read_manifest(run.store, "r", 1)["commit"].metrics
    assert 0 < committed["system/commit/tracking_s"] < committed["system/commit/wall_s"]


def test_again_it_changes_nothing_and_logs_nothing(run: Run, tracking: Tracking) -> None:
    run.begin()
    run.iterate(1)
    before = {key: run.store.read(key) for key in run.store.list("runs/r/state/")}
    run.begin()
    run.iterate(1)
    assert {key: run.store.read(key) for key in run.store.list("runs/r/state/")} == before
    assert len(tracking.logged) == 2


@pytest.mark.parametrize("cut", ["write_state", "save_state", "_log", "read_output"])
def test_killed_anywhere_the_last_state_stays_and_a_repetition_gives_the_same(
    run: Run, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    run.begin()

    def die(*_: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(main, cut, die)
        with pytest.raises(SystemExit):
            run.iterate(1)
    assert latest_iteration(run.store, "r") == 0
    run.iterate(1)
    assert read_state(run.store, "r", 1).policies["tool"].version == 1


def test_a_tracking_server_that_fails_stops_the_iteration(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.begin()

    def fail(*_: Any, **__: Any) -> Any:
        raise ConnectionError("no MLflow")

    with monkeypatch.context() as patch:
        patch.setattr("components.tracking.log_iteration", fail)
        with pytest.raises(ConnectionError):
            run.iterate(1)
    assert latest_iteration(run.store, "r") == 0


def test_a_missing_iteration_is_named_with_the_fix(run: Run) -> None:
    with pytest.raises(StorageError, match="no state of iteration 0 .* preparation pipeline"):
        run.iterate(1)
    run.begin()
    run.iterate(1)
    with pytest.raises(StorageError, match="no state of iteration 4 .* run iteration 2 next"):
        run.iterate(5)


def test_another_configuration_is_refused_by_every_step(run: Run, tmp_path: Path) -> None:
    run.begin()
    other = Run(tmp_path, run.settings, seed=8)
    for ask in (other.begin, lambda: other.iterate(1)):
        with pytest.raises(ConfigError, match="seed: was 0, is 8"):
            ask()


def test_the_first_policies_are_the_configured_ones(run: Run) -> None:
    with pytest.raises(PolicyError, match=r"\['tool'\], expected \['plan', 'tool'\]"):
        run.begin("tool")
    Path(run.path("policies")).write_text("{}")
    with pytest.raises(RecordError, match="expected JSON"):
        main._initial_policies(run.path("policies"), parse_config(run.config))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_with_mlflow_a_repetition_after_a_kill_gives_the_same_state(
    file_settings: StorageConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after logging, before the step's own manifest: the second log finds the same runs."""
    run = Run(tmp_path, file_settings, tracking={"uri": f"sqlite:///{tmp_path}/mlflow.db"})
    run.begin()
    logged: list[Any] = []

    def die(path: str, state: Any) -> Any:
        logged.append(state)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(main, "save_state", die)
        with pytest.raises(SystemExit):
            run.iterate(1)
    run.iterate(1)
    assert read_state(run.store, "r", 1) == logged[0]
    run.iterate(2)
    first, second = (read_state(run.store, "r", iteration).mlflow for iteration in (1, 2))
    assert first["training_run_id"] == second["training_run_id"]
    assert first["iteration_run_id"] != second["iteration_run_id"]
