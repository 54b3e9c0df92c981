"""KFP interface of the warm start."""

from kfp import dsl

from components.images import DEEPSPEED


@dsl.component(base_image=DEEPSPEED, install_kfp_package=False)
def warm_start(
    config: str,
    run: str,
    iteration: int,
    policies: dsl.Input[dsl.Artifact],
    warmed: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Train fresh policies on the environment's demonstrations, by cross-entropy.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: 0.
        policies: References of the initial policies (JSON).
        warmed: References of the trained policies, version 0 (JSON).
        metrics: Loss, entropy and speed; per policy.
    """
    from components.update.warm_start.main import warm_start as main

    inputs, outputs = {"policies": policies.path}, {"policies": warmed.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)
