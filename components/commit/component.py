"""KFP interface of the steps that commit: commit (an iteration), commit_initial (the start)."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def commit(
    config: str,
    run: str,
    iteration: int,
    updates: list[str],
    state: dsl.Input[dsl.Artifact],
    samples: dsl.Input[dsl.Dataset],
    certificate: dsl.Input[dsl.Artifact],
    episodes: dsl.Input[dsl.Dataset],
    evaluation: dsl.Input[dsl.Dataset],
    new_state: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Log the iteration to MLflow and write its training state: the iteration has happened.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        updates: Store keys of the committed update steps.
        state: Training state of the iteration before.
        samples: Training samples with their advantages.
        certificate: Groups of the iteration.
        episodes: How the training episodes ended.
        evaluation: How the validation episodes ended; may be empty.
        new_state: Training state of this iteration (JSON with references, no weights).
        metrics: The data cursor, and what the step took.
    """
    from components.commit.main import commit as main

    files = {"state": state, "samples": samples, "certificate": certificate}
    files |= {"episodes": episodes, "evaluation": evaluation}
    inputs = {name: file.path for name, file in files.items()}
    outputs = {"new_state": new_state.path}
    for name, value in main(config, run, iteration, inputs, outputs, updates=updates).items():
        metrics.log_metric(name, value)


@dsl.component(base_image=CPU, install_kfp_package=False)
def commit_initial(
    config: str,
    run: str,
    iteration: int,
    policies: dsl.Input[dsl.Artifact],
    state: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Write the training state of iteration 0: the policies that the run begins with.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: 0.
        policies: References of the policies to begin with (JSON).
        state: Training state of iteration 0 (JSON with references, no weights).
        metrics: The number of policies, and what the step took.
    """
    from components.commit.main import commit_initial as main

    inputs, outputs = {"policies": policies.path}, {"state": state.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)
