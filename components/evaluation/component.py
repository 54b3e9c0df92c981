"""KFP interface of the final evaluation."""

from kfp import dsl

from components.images import VLLM


@dsl.component(base_image=VLLM, install_kfp_package=False)
def evaluate(
    config: str,
    run: str,
    iteration: int,
    state: dsl.Input[dsl.Artifact],
    evaluation: dsl.Output[dsl.Dataset],
    report: dsl.Output[dsl.Artifact],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Play the team against its reference on the same held-out tasks, and once on the test split.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Iteration whose team is evaluated.
        state: Training state of that iteration.
        evaluation: How all episodes ended, by benchmark.
        report: Success with intervals, paired difference to the reference (JSON).
        metrics: Success with its interval, turns and rewards by benchmark; the gain.
    """
    from components.evaluation.main import evaluate as main

    inputs = {"state": state.path}
    outputs = {"evaluation": evaluation.path, "report": report.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)
