"""KFP interface of the step that loads the training state."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def load_state(
    config: str,
    run: str,
    iteration: int,
    state: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
    previous: bool = True,
) -> None:
    """Load the training state that the iteration before committed, or the iteration's own.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        state: Training state (JSON with references, no weights).
        metrics: The data cursor, and what the step took.
        previous: Whether to load the state of the iteration before; false: the iteration's own.
    """
    from components.load_state.main import load_state as main

    outputs = {"state": state.path}
    for name, value in main(config, run, iteration, {}, outputs, previous=previous).items():
        metrics.log_metric(name, value)
