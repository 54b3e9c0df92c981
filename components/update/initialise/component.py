"""The KFP interface of the step `initialise`."""

from kfp import dsl

from components.images import DEEPSPEED


@dsl.component(base_image=DEEPSPEED, install_kfp_package=False)
def initialise(
    config: str,
    run: str,
    iteration: int,
    policies: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Make or import the base of every policy and upload it as version 0.

    Args:
        config: The resolved experiment configuration as JSON.
        run: Name of the run.
        iteration: 0.
        policies: References to the policies that the run begins with.
        metrics: Size of each policy and resource use.
    """
    from components.update.initialise.main import initialise as main

    for name, value in main(config, run, iteration, {}, {"policies": policies.path}).items():
        metrics.log_metric(name, value)
