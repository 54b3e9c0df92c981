"""The training state: one JSON object per iteration, written once.

An iteration happened if its state exists. The state holds references only: weights and
optimiser states lie in object storage under their digests.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig, decisive, parse_config
from components.errors import ConfigError, RecordError, StorageError
from components.policies import FolderRef, PolicyRef, Team
from components.storage import Store

SCHEMA_VERSION = 1
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class TrainingState:
    """All that the next iteration needs."""

    run: str
    iteration: int
    """0 is the start, before any update."""
    config_digest: str
    policies: dict[str, PolicyRef]
    """The policies after this iteration, by name."""
    optimizers: dict[str, FolderRef]
    """Optimiser states, by policy; none at iteration 0 and for frozen policies."""
    initial: dict[str, PolicyRef]
    """The policies of iteration 0."""
    next_task: int
    """Cursor of the training stream: index of the first task not yet played."""
    mlflow: dict[str, str] = field(default_factory=dict)
    """Ids of the tracking server's runs."""
    schema_version: int = SCHEMA_VERSION

    def team(self, config: ExperimentConfig) -> Team:
        """The policies in the configuration's roles."""
        return Team(self.policies, config.roles)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `from_json` is its inverse."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "TrainingState":
        """Raise RecordError for another schema version, a missing or an unknown field."""
        if not isinstance(value, Mapping):
            raise RecordError(f"training state: got {type(value).__name__}, expected an object")
        version = value.get("schema_version")
        if version != SCHEMA_VERSION:
            raise RecordError(
                f"training state: schema_version {version!r}, expected {SCHEMA_VERSION}"
            )
        try:
            return TrainingState(
                **{
                    **value,
                    "policies": _policies(value["policies"]),
                    "initial": _policies(value["initial"]),
                    "optimizers": {
                        name: FolderRef(**ref) for name, ref in value["optimizers"].items()
                    },
                }
            )
        except (KeyError, TypeError) as error:
            raise RecordError(f"training state: bad field {error}; got {sorted(value)}") from error


def check_run(run: str) -> str:
    """The run's name itself. ConfigError if it cannot be part of a key."""
    if not _RUN.fullmatch(run):
        raise ConfigError(
            f"run name {run!r}: expected 1-100 letters, digits, '.', '_' or '-', not first a sign"
        )
    return run


def state_key(run: str, iteration: int) -> str:
    """Where the state lies: `runs/<run>/state/000003.json`."""
    return f"runs/{check_run(run)}/state/{iteration:06d}.json"


def read_state(store: Store, run: str, iteration: int) -> TrainingState:
    """The committed state. StorageError if the iteration has not happened."""
    key = state_key(run, iteration)
    return _decode(store.read(key), f"{store.uri}/{key}")


def latest_iteration(store: Store, run: str) -> int | None:
    """The last iteration with a state; None if the run has none."""
    prefix = f"runs/{check_run(run)}/state/"
    found = [re.fullmatch(r"(\d+)\.json", key.removeprefix(prefix)) for key in store.list(prefix)]
    return max((int(match[1]) for match in found if match), default=None)


def last_committed(store: Store, run: str) -> int:
    """`latest_iteration`. ConfigError, with what to do, if the run has none."""
    latest = latest_iteration(store, run)
    if latest is None:
        raise ConfigError(
            f"run {run!r} has no committed iteration in {store.uri}; "
            "train it with `python -m pipelines run`, or name another run"
        )
    return latest


def write_state(store: Store, state: TrainingState) -> None:
    """Commit an iteration. The same state again is fine; another one is a StorageError."""
    key = state_key(state.run, state.iteration)
    if store.create(key, _encode(state)):
        return
    committed = read_state(store, state.run, state.iteration)
    if committed != state:
        lines = differences(committed.to_json(), state.to_json())
        raise StorageError(
            f"{store.uri}/{key}: iteration {state.iteration} was committed with another result: "
            f"{'; '.join(lines[:4])}"
        )


def save_state(path: str | Path, state: TrainingState) -> None:
    """Write a state to a local file, for the steps that follow."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(_encode(state))


def load_state(path: str | Path) -> TrainingState:
    """The state in a local file. RecordError if it cannot be read."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: training state cannot be read: {error.strerror}") from error
    return _decode(data, str(path))


def register_run(store: Store, run: str, config: ExperimentConfig) -> None:
    """Bind a run's name to its configuration.

    ConfigError if the name belongs to a configuration that differs in what decides the result.
    """
    key = f"runs/{check_run(run)}/config.json"
    content = json.dumps(config.model_dump(mode="json"), separators=(",", ":"))
    if store.create(key, content.encode()):  # not sorted: reports show the roles in their order
        return
    try:
        first = decisive(_with_defaults(json.loads(store.read(key))))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise StorageError(
            f"{store.uri}/{key}: not the JSON of a configuration: {error}; delete it to bind run "
            f"{run!r} to this one"
        ) from error
    lines = differences(first, decisive(json.loads(config.to_json())))
    if lines:
        raise ConfigError(
            f"run {run!r} began with another configuration: {'; '.join(lines)}; "
            "choose another --name or restore these values"
        )


def _with_defaults(content: Any) -> Any:
    """A configuration as this version resolves it: keys that are newer get their defaults."""
    try:
        return json.loads(parse_config(content).to_json())
    except ConfigError:  # of a version whose values are no longer allowed
        return content


def differences(first: Any, second: Any, path: str = "") -> list[str]:
    """`key.subkey: was 1, is 2` for every value that differs between two JSON values."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return [
            line
            for key in sorted({*first, *second})
            for line in differences(
                first.get(key, "absent"), second.get(key, "absent"), f"{path}.{key}".lstrip(".")
            )
        ]
    return [] if first == second else [f"{path}: was {_short(first)}, is {_short(second)}"]


def _short(value: Any) -> str:
    text = value if value == "absent" else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _policies(value: Mapping[str, Any]) -> dict[str, PolicyRef]:
    return {name: PolicyRef.from_json(ref) for name, ref in value.items()}


def _encode(state: TrainingState) -> bytes:
    return (json.dumps(state.to_json(), indent=1, sort_keys=True) + "\n").encode()


def _decode(data: bytes, source: str) -> TrainingState:
    try:
        return TrainingState.from_json(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{source}: not JSON: {error}") from error
    except RecordError as error:
        raise RecordError(f"{source}: {error}") from error
