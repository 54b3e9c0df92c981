"""Iteration 0 as a pipeline: the policies that a run begins with."""

from typing import Any

from kfp import dsl

from components.commit.component import commit_initial
from components.config import ExperimentConfig
from components.update.initialise.component import initialise
from components.update.warm_start.component import warm_start
from pipelines.booking import booking
from pipelines.iteration import pipeline_name
from pipelines.profile import Profile


def preparation_pipeline(config: ExperimentConfig, profile: Profile) -> Any:
    """The pipeline before the first iteration:

    1. initialise: make or fetch the base of each policy, put it into object storage
    2. warm_start, if configured: supervised steps on the environment's demonstrations
    3. commit_initial: write the training state of iteration 0
    """

    @dsl.pipeline(name=pipeline_name(config, "preparation"))
    def pipeline(run: str) -> None:
        """Make the policies that a training run begins with, and commit them as iteration 0.

        Args:
            run: Name of the training run; its states and policies lie under this name.
        """
        add = booking(profile, config.to_json(), run, 0)
        policies = add(initialise).outputs["policies"]
        if config.warm_start:
            policies = add(warm_start, policies=policies).outputs["warmed"]
        add(commit_initial, policies=policies)

    return pipeline
