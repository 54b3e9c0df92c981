"""KFP interface of the step promote."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def promote(
    config: str,
    run: str,
    iteration: int,
    state: dsl.Input[dsl.Artifact],
    evaluation: dsl.Input[dsl.Dataset],
    report: dsl.Input[dsl.Artifact],
    verdict: dsl.Output[dsl.Artifact],
    html: dsl.Output[dsl.HTML],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Register the team as candidate; make it the champion if the gate passes.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration whose team is judged.
        state: Training state that holds the team.
        evaluation: How the evaluation's episodes ended.
        report: The evaluation's numbers and the paired comparison (JSON).
        verdict: The gate's answer with reasons, versions and aliases (JSON).
        html: The same as a page.
        metrics: Gain with its interval, success per benchmark.
    """
    from components.promotion.main import promote as main

    inputs = {"state": state.path, "evaluation": evaluation.path, "report": report.path}
    outputs = {"verdict": verdict.path, "html": html.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)
