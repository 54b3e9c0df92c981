"""The next training state from the last one and the results of the updates. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from components.config import ExperimentConfig
from components.errors import ConfigError, PolicyError
from components.policies import FolderRef, PolicyRef
from components.state import TrainingState


def next_state(
    state: TrainingState,
    config: ExperimentConfig,
    iteration: int,
    results: Sequence[Mapping[str, Any]],
) -> TrainingState:
    """Updated policies replace the old ones, frozen ones stay, the data cursor moves on.

    `results`: one `{"policies": {name: PolicyRef}, "optimizers": {name: FolderRef}}` per update.
    ConfigError if the state is not of the iteration before or of another configuration;
    PolicyError if a trainable policy was not updated exactly once, or has a wrong version. A policy
    whose update had nothing to learn from may come back unchanged.
    """
    if state.iteration != iteration - 1:
        raise ConfigError(
            f"the state given is of iteration {state.iteration}, expected {iteration - 1}"
        )
    if state.config_digest != config.digest():
        raise ConfigError(
            f"the state given is of configuration {state.config_digest[:12]}, "
            f"expected {config.digest()[:12]}"
        )
    updated = [(name, ref) for result in results for name, ref in result["policies"].items()]
    _check_names([name for name, _ in updated], config)
    policies = {name: PolicyRef.from_json(ref) for name, ref in updated}
    for name, ref in policies.items():
        if ref.version != iteration and ref != state.policies[name]:
            raise PolicyError(
                f"policy {name!r}: version {ref.version}, expected {iteration} or no change"
            )
    optimizers = {
        name: FolderRef(**ref) for result in results for name, ref in result["optimizers"].items()
    }
    return replace(
        state,
        iteration=iteration,
        policies=state.policies | policies,
        optimizers=state.optimizers | optimizers,
        next_task=state.next_task + config.rollout.num_tasks,
    )


def _check_names(updated: Sequence[str], config: ExperimentConfig) -> None:
    if sorted(updated) != sorted(config.trainable):
        raise PolicyError(
            f"policies updated: {sorted(updated)}; expected each of {sorted(config.trainable)} once"
        )
