"""A whole training run as a pipeline of one step, the driver in the cluster, for users of the UI.

The step submits one run per iteration, as `python -m pipelines submit --wait` does, and can be
stopped and started again. Its component is the only one outside components/: it drives pipelines.
"""

from typing import Any

from kfp import dsl

from components.config import ExperimentConfig
from components.images import DRIVER
from pipelines.booking import book, runtime_of
from pipelines.iteration import pipeline_name
from pipelines.profile import Profile


@dsl.component(base_image=DRIVER, install_kfp_package=False)
def train(
    config: str,
    profile: str,
    run: str,
    experiment: str,
    iterations: int,
    retries: int,
    terminate_on_stop: bool,
    service_account: str,
    namespace: str,
    endpoint: str,
    html: dsl.Output[dsl.HTML],
) -> None:
    """Submit one run per iteration and wait for each, until all iterations are done.

    Args:
        config: Resolved experiment configuration (JSON).
        profile: Resolved profile (JSON), with the images of all steps.
        run: Name of the training run; empty: the experiment's and 8 hex digits of its digest.
        experiment: Kubeflow experiment of the iterations' runs; empty: the configuration's name.
        iterations: How many iterations the run shall have in the end.
        retries: How often a failed iteration is repeated.
        terminate_on_stop: Whether the iteration's run is terminated too if this step is stopped.
        service_account: As which the pods of the iterations' runs run; empty: the installation's.
        namespace: Namespace of the runs; empty: Kubeflow has one user.
        endpoint: Address of the API; empty: the cluster's own.
        html: The report of the training run.
    """
    from pipelines.driving import drive_in_child as main

    place = {"experiment": experiment, "namespace": namespace, "endpoint": endpoint}
    place["service_account"] = service_account
    typed = {"iterations": iterations, "retries": retries, "terminate_on_stop": terminate_on_stop}
    main({"config": config, "profile": profile, "run": run, **typed, **place}, html.path)


def training_pipeline(config: ExperimentConfig, profile: Profile) -> Any:
    """The pipeline of a whole run:

    1. train: submit the runs that are missing (preparation, iterations, promotion), one by one
    """

    @dsl.pipeline(name=pipeline_name(config, "training"))
    def pipeline(
        run: str = "",
        iterations: int = config.iterations,
        retries: int = 1,
        experiment: str = config.name,
        terminate_on_stop: bool = False,
        service_account: str = profile.service_account or "",
        namespace: str = "",
        endpoint: str = "",
    ) -> None:
        """Train the team: one run per iteration, submitted from inside the cluster.

        Terminate it to stop; start it again with the same parameters to go on where it was.

        Args:
            run: Name of the training run, such as my-run; empty: made from the configuration.
            iterations: How many iterations the run shall have in the end, 1 or more.
            retries: How often a failed iteration is repeated, 0 or more.
            experiment: Experiment in which the runs of the iterations appear.
            terminate_on_stop: Whether stopping this run also terminates the iteration's run.
            service_account: As which the iterations' pods run; empty: the installation's account.
            namespace: Namespace of the runs; leave it empty where Kubeflow has one user.
            endpoint: Address of the Kubeflow Pipelines API; leave it empty for the cluster's own.
        """
        task = train(
            config=config.to_json(), profile=profile.model_dump_json(exclude_unset=True), run=run,
            experiment=experiment, iterations=iterations, retries=retries,
            terminate_on_stop=terminate_on_stop, service_account=service_account,
            namespace=namespace, endpoint=endpoint,
        )  # fmt: skip
        task.set_caching_options(False)
        task.set_container_image(profile.images["driver"])
        book(task, profile.settings("train", runtime_of(train)))

    return pipeline
