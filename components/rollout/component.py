"""KFP interface of the steps that sample: rollout (fused), sample_turn, evaluate_team (staged)."""

from kfp import dsl

from components.images import VLLM


@dsl.component(base_image=VLLM, install_kfp_package=False)
def rollout(
    config: str,
    run: str,
    iteration: int,
    state: dsl.Input[dsl.Artifact],
    scored: dsl.Output[dsl.Dataset],
    episodes: dsl.Output[dsl.Dataset],
    evaluation: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Play the iteration's training episodes, and the loaded team on validation if it is due.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        state: Training state of the iteration before.
        scored: Judged answers, one row per candidate.
        episodes: How the training episodes ended.
        evaluation: How the validation episodes ended; empty if the evaluation is not due.
        metrics: Rewards, success, turns, tokens and seconds.
    """
    from components.rollout.main import rollout as main

    inputs = {"state": state.path}
    outputs = {"scored": scored.path, "episodes": episodes.path, "evaluation": evaluation.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)


@dsl.component(base_image=VLLM, install_kfp_package=False)
def sample_turn(
    config: str,
    run: str,
    iteration: int,
    state: dsl.Input[dsl.Artifact],
    turns: dsl.Input[dsl.Dataset],
    candidates: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Answer the prompts of one phase; nothing is loaded when no episode is left.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        state: Training state of the iteration before.
        turns: Prompts of this phase.
        candidates: Sampled answers.
        metrics: Tokens and seconds.
    """
    from components.rollout.main import sample_turn as main

    inputs, outputs = {"state": state.path, "turns": turns.path}, {"candidates": candidates.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)


@dsl.component(base_image=VLLM, install_kfp_package=False)
def evaluate_team(
    config: str,
    run: str,
    iteration: int,
    state: dsl.Input[dsl.Artifact],
    evaluation: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Play the loaded team on validation if this iteration's evaluation is due.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        state: Training state of the iteration before.
        evaluation: How the validation episodes ended; empty if not due.
        metrics: Success with its interval, turns, rewards.
    """
    from components.rollout.main import evaluate_team as main

    inputs, outputs = {"state": state.path}, {"evaluation": evaluation.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)
