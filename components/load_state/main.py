"""Hands the committed training state of the iteration before to the steps of this one.

It is the first step, so it also judges the run parameters that somebody typed in the UI.
"""

from collections.abc import Mapping

from components.config import ExperimentConfig, parse_config
from components.errors import ConfigError, StorageError
from components.state import latest_iteration, read_state, register_run, save_state, state_key
from components.step import StepContext, announcing_errors, run_step
from components.storage import Store


def load_state(
    config: str,
    run: str,
    iteration: int,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    *,
    previous: bool = True,
) -> dict[str, float]:
    """Fill `outputs["state"]` with the state of `iteration - 1`, or of `iteration` itself.

    StorageError if that iteration has not happened, ConfigError if the number is out of range or
    the run began with another configuration. The result is not remembered: reading it again costs
    nothing.
    """
    with announcing_errors("load_state", run, iteration):
        check_iteration(parse_config(config), iteration, first=1 if previous else 0)
    wanted = iteration - 1 if previous else iteration

    def compute(step: StepContext) -> Mapping[str, float]:
        require_iteration(step.store, run, wanted)
        register_run(step.store, run, step.config)
        state = read_state(step.store, run, wanted)
        save_state(outputs["state"], state)
        return {"load_state/next_task": state.next_task}

    return run_step("load_state", config, run, iteration, inputs, outputs, compute, memo=False)


def check_iteration(config: ExperimentConfig, iteration: int, first: int) -> None:
    """ConfigError if `iteration` cannot be the number of one; 1 is the first to be made."""
    if not isinstance(iteration, int) or isinstance(iteration, bool):
        raise ConfigError(f"iteration is {iteration!r}: expected a whole number")
    last = config.iterations
    if iteration < first or (first and iteration > last):
        expected = f"{first} to {last}" if first else "0 or more"
        fix = ""
        if iteration > last:
            fix = f"; for more, compile again with --set iterations={iteration}"
        elif first:
            fix = "; iteration 0 is the preparation pipeline's"
        raise ConfigError(f"iteration is {iteration}: expected {expected}{fix}")


def require_iteration(store: Store, run: str, iteration: int) -> None:
    """StorageError that says what to run if the iteration has no state."""
    if iteration >= 0 and store.exists(state_key(run, iteration)):
        return
    last = latest_iteration(store, run)
    if last is None:
        fix = "the run has no state at all: run the preparation pipeline, which commits iteration 0"
    else:
        fix = f"the last committed iteration is {last}: run iteration {last + 1} next"
    raise StorageError(f"run {run!r}: no state of iteration {iteration} in {store.uri}; {fix}")
