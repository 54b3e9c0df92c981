"""The closing evaluation as a pipeline of its own, for the team of any iteration: with the
promotion that it is for, or alone."""

from typing import Any

from kfp import dsl

from components.config import ExperimentConfig
from components.evaluation.component import evaluate
from components.load_state.component import load_state
from pipelines.booking import booking
from pipelines.iteration import add_promotion, pipeline_name
from pipelines.profile import Profile


def promotion_pipeline(config: ExperimentConfig, profile: Profile) -> Any:
    """The pipeline that promotes the team of an iteration:

    1. load_state: the training state that the iteration left
    2. evaluate: play the team and the reference team on the held-out splits
    3. promote: move the aliases if the gate passes, write the audit log
    """

    @dsl.pipeline(name=pipeline_name(config, "promotion"))
    def pipeline(run: str, iteration: int) -> None:
        """Evaluate the team of one iteration and promote it if it passes the gate.

        Args:
            run: Name of the training run; its states and policies lie under this name.
            iteration: The iteration whose team is judged; its state must exist.
        """
        add = booking(profile, config.to_json(), run, iteration)
        add_promotion(add, add(load_state, previous=False).outputs["state"])

    return pipeline


def evaluation_pipeline(config: ExperimentConfig, profile: Profile) -> Any:
    """The pipeline that evaluates the team of an iteration and moves nothing:

    1. load_state: the training state that the iteration left
    2. evaluate: play the team and the reference team on the held-out splits
    """

    @dsl.pipeline(name=pipeline_name(config, "evaluation"))
    def pipeline(run: str, iteration: int) -> None:
        """Evaluate the team of one iteration; the promotion of the same team takes its result.

        Args:
            run: Name of the training run; its states and policies lie under this name.
            iteration: The iteration whose team is played; its state must exist.
        """
        add = booking(profile, config.to_json(), run, iteration)
        add(evaluate, state=add(load_state, previous=False).outputs["state"])

    return pipeline
