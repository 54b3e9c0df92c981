"""A whole training run as a pipeline of one step, the driver in the cluster, for users of the UI.

The step submits one run per iteration, as `python -m pipelines submit --wait` does, and can be
stopped and started again. Its component is the only one outside components/: it drives pipelines.
"""

import json
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kfp import dsl

from components.config import ExperimentConfig, parse_config
from components.errors import ConfigError, RolewiseError
from components.images import DRIVER
from components.storage import open_store
from pipelines.api import Api, find_access
from pipelines.booking import book, runtime_of
from pipelines.cluster import ClusterRunner
from pipelines.display import Display
from pipelines.driver import Options, run_name
from pipelines.driver import train as drive
from pipelines.iteration import pipeline_name
from pipelines.profile import Profile, parse_profile


@dsl.component(base_image=DRIVER, install_kfp_package=False)
def train(
    config: str,
    profile: str,
    run: str,
    experiment: str,
    iterations: int,
    retries: int,
    terminate_on_stop: bool,
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
        namespace: Namespace of the runs; empty: Kubeflow has one user.
        endpoint: Address of the API; empty: the cluster's own.
        html: The report of the training run.
    """
    from pipelines.training import train_in_cluster as main

    place = {"experiment": experiment, "namespace": namespace, "endpoint": endpoint}
    main(config, profile, run, iterations, retries, terminate_on_stop, place, html.path)


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
            namespace: Namespace of the runs; leave it empty where Kubeflow has one user.
            endpoint: Address of the Kubeflow Pipelines API; leave it empty for the cluster's own.
        """
        task = train(
            config=config.to_json(), profile=profile.model_dump_json(exclude_unset=True), run=run,
            experiment=experiment, iterations=iterations, retries=retries,
            terminate_on_stop=terminate_on_stop, namespace=namespace, endpoint=endpoint,
        )  # fmt: skip
        task.set_caching_options(False)
        task.set_container_image(profile.images["driver"])
        book(task, profile.settings("train", runtime_of(train)))

    return pipeline


def train_in_cluster(
    config: str,
    profile: str,
    run: str,
    iterations: int,
    retries: int,
    terminate: bool,
    place: dict[str, str],
    report: str,
) -> None:
    """Drive a run to its end from the parameters of the pipeline; write its HTML report.

    Any error prints one line that begins with `error:` and rises.
    """
    signal.signal(signal.SIGTERM, _interrupt)  # what a pod gets when its run is terminated
    try:
        chosen = _chosen(config, iterations, retries)
        name = run_name(chosen, run or None)
        with TemporaryDirectory() as folder:
            start = ClusterRunner(
                chosen, name, _profile(profile), _connect(place),
                place["experiment"] or chosen.name, Display(sys.stdout, iterations),
                folder=Path(folder), terminate=terminate,
            )  # fmt: skip
            drive(chosen, Options(name, retries=retries), start.display, start)
        _write_report(chosen, name, report)
    except RolewiseError as error:
        text = str(error).removeprefix("error: ")
        print(f"error: train (run {run or 'unnamed'}, iteration all): {text}", file=sys.stderr)
        raise


def _chosen(config: str, iterations: int, retries: int) -> ExperimentConfig:
    """The configuration with the parameters that were typed. ConfigError names a wrong one."""
    for name, value, least in (("iterations", iterations, 1), ("retries", retries, 0)):
        if not isinstance(value, int) or value < least:
            raise ConfigError(f"{name} is {value!r}: expected a whole number, {least} or more")
    return parse_config(config).model_copy(update={"iterations": iterations})


def _profile(text: str) -> Profile:
    content = json.loads(text)
    return parse_profile(content.pop("name"), content)


def _connect(place: dict[str, str]) -> Api:
    access = find_access(place["endpoint"] or None, namespace=place["namespace"] or None)
    if access is None:
        raise ConfigError("endpoint is empty, and this is no pod: give the address of the API")
    api = Api(access)
    api.check()
    return api


def _write_report(config: ExperimentConfig, run: str, path: str) -> None:
    from components.reporting.html import html_report
    from components.reporting.summary import collect

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(html_report(collect(open_store(config.storage), config, run)))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
