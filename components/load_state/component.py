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
) -> None:
    """Load the training state that the iteration before committed.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        state: Training state of the iteration before (JSON with references, no weights).
        metrics: The data cursor, and what the step took.
    """
    from components.load_state.main import load_state as main

    for name, value in main(config, run, iteration, {}, {"state": state.path}).items():
        metrics.log_metric(name, value)
