"""KFP interface of the step `group`."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def group(
    config: str,
    run: str,
    iteration: int,
    scored: dsl.Input[dsl.Dataset],
    samples: dsl.Output[dsl.Dataset],
    certificate: dsl.Output[dsl.Artifact],
    html: dsl.Output[dsl.HTML],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Group answers to one prompt, compute their advantages, and certify the groups.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        scored: Judged answers, one row per candidate.
        samples: The same rows with group, advantage and weight.
        certificate: What each group consists of, and what is wrong with it (JSON).
        html: The certificate as a page.
        metrics: Groups, failed generations and the share of groups without spread, per role.
    """
    from components.grouping.main import group as main

    inputs = {"scored": scored.path}
    outputs = {"samples": samples.path, "certificate": certificate.path, "html": html.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)
