"""Finds a team: by an alias or a version in the registry, or as an iteration of a run left it."""

from dataclasses import dataclass
from pathlib import Path

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.models.exporting import Wanted
from components.numbering import is_number
from components.policies import Team
from components.promotion.pins import env_pins
from components.settings import StorageConfig, TrackingConfig
from components.state import latest_iteration, read_state
from components.storage import Store, open_store
from components.tracking import teams as registered
from components.tracking.manifest import TeamManifest
from pipelines.finding import find_run, is_file, read_config


@dataclass(frozen=True)
class FoundTeam:
    """A team with all that is needed to load, play and describe it."""

    name: str
    """The registered team's, or the run's."""
    run: str
    iteration: int
    team: Team
    config: ExperimentConfig
    """Of its run, with the storage that it was found in."""
    store: Store
    manifest: TeamManifest | None
    """What the registry says of it; None for a team that was found in its run."""

    @property
    def label(self) -> str:
        """`<run>@<iteration>`."""
        return f"{self.run}@{self.iteration}"


def find_team(
    text: str, store_uri: str | None = None, tracking_uri: str | None = None
) -> FoundTeam:
    """The team that `TEAM@alias`, `TEAM@v2` or `RUN[:iteration]` names.

    Args:
        store_uri: where the runs are; None: where the registry says, or the default.
        tracking_uri: of the registry; None: MLFLOW_TRACKING_URI, or the default.

    ConfigError, TrackingError or StorageError in one line.
    """
    team, found, selector = text.rpartition("@")
    if found:
        return _registered(team, selector, store_uri, TrackingConfig(uri=tracking_uri))
    return _of_run(text, store_uri)


def _registered(
    team: str, selector: str, store_uri: str | None, tracking: TrackingConfig
) -> FoundTeam:  # fmt: skip
    manifest = registered.find_team(tracking, team, selector)
    storage = manifest.store if store_uri is None else StorageConfig(uri=store_uri)
    store = open_store(storage)
    config = read_config(store, manifest.run, storage)
    return FoundTeam(
        team, manifest.run, manifest.iteration, manifest.playing, config, store, manifest
    )


def _of_run(text: str, store_uri: str | None) -> FoundTeam:
    name, colon, number = text.rpartition(":")
    if colon and not (name and is_number(number)) and not is_file(text):
        raise ConfigError(
            f"team {text!r}: {number!r} is no iteration; expected RUN:4, RUN for its latest, "
            "TEAM@alias or TEAM@v2"
        )
    run, wanted = (name, int(number)) if colon and not is_file(text) else (text, None)
    found = find_run(run, store_uri)
    latest = latest_iteration(found.store, found.name)
    iteration = latest if wanted is None else wanted
    if latest is None or iteration is None:
        raise ConfigError(
            f"run {found.name!r} has no team yet: none of its iterations is committed; its `run` "
            "command goes on"
        )
    if iteration > latest:
        raise ConfigError(
            f"run {found.name!r} has no team of iteration {iteration}; expected 0 to {latest}"
        )
    state = read_state(found.store, found.name, iteration)
    team = state.team(found.config)
    return FoundTeam(found.name, found.name, iteration, team, found.config, found.store, None)


def wanted(found: FoundTeam, cache: Path, merge: bool = False, role: str | None = None) -> Wanted:
    """The team as `components.models.exporting` takes it."""
    config, manifest = found.config, found.manifest
    facts = {
        "team": found.name, "run": found.run, "iteration": found.iteration,
        "dtype": config.rollout.dtype,
        "tensor_parallel": config.rollout.tensor_parallel,
        "quantization": config.rollout.quantization,
        "envs": (manifest.envs if manifest else None) or env_pins(config),
        "evaluation": dict(manifest.evaluation) if manifest else {},
        "gate": dict(manifest.gate) if manifest else {},
    }  # fmt: skip
    bases = {name: policy.base for name, policy in config.policies.items()}
    length = config.rollout.max_prompt_tokens + config.rollout.max_new_tokens
    return Wanted(found.team, found.store, cache, bases, facts, length, merge, role)
