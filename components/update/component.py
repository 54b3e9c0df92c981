"""KFP interface of the step that updates policies: in its own pod, or on several nodes."""

from kfp import dsl

from components.images import CPU, DEEPSPEED


@dsl.component(base_image=DEEPSPEED, install_kfp_package=False)
def update(
    config: str,
    run: str,
    iteration: int,
    policies: list[str],
    state: dsl.Input[dsl.Artifact],
    samples: dsl.Input[dsl.Dataset],
    certificate: dsl.Input[dsl.Artifact],
    result: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
) -> str:
    """Train policies on their own samples (AT-GRPO, Eq. 2) with DeepSpeed.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        policies: Policies to update; empty: all trainable ones in one process.
        state: Training state of the iteration before.
        samples: Training samples with their advantages.
        certificate: Groups of the iteration; violations stop the update.
        result: References of the new policies and optimiser states (JSON, no weights).
        metrics: Loss, entropy, clip ratio, KL, mismatch, speed; per policy.

    Returns:
        Store key of the committed step, which `commit` takes.
    """
    from components.update.main import committed_key
    from components.update.main import update as main

    inputs = {"state": state.path, "samples": samples.path, "certificate": certificate.path}
    outputs = {"result": result.path}
    for name, value in main(config, run, iteration, inputs, outputs, policies).items():
        metrics.log_metric(name, value)
    return committed_key(config, run, iteration, inputs, policies)


@dsl.component(base_image=CPU, install_kfp_package=False)
def update_on_nodes(
    config: str,
    run: str,
    iteration: int,
    policies: list[str],
    pod: str,
    state: dsl.Input[dsl.Artifact],
    samples: dsl.Input[dsl.Dataset],
    certificate: dsl.Input[dsl.Artifact],
    result: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
) -> str:
    """Train policies on their own samples (AT-GRPO, Eq. 2) on several nodes, as a TrainJob.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        policies: Policies to update; empty: all trainable ones, one after another.
        pod: What the pod of each node gets (JSON): image, resources, environment, secrets.
        state: Training state of the iteration before.
        samples: Training samples with their advantages.
        certificate: Groups of the iteration; violations stop the update.
        result: References of the new policies and optimiser states (JSON, no weights).
        metrics: Loss, entropy, clip ratio, KL, mismatch, speed; per policy.

    Returns:
        Store key of the committed step, which `commit` takes.
    """
    from components.update.main import committed_key
    from components.update.main import update as main

    inputs = {"state": state.path, "samples": samples.path, "certificate": certificate.path}
    outputs = {"result": result.path}
    for name, value in main(config, run, iteration, inputs, outputs, policies, pod).items():
        metrics.log_metric(name, value)
    return committed_key(config, run, iteration, inputs, policies)
