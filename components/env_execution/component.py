"""KFP interface of the turn loop's CPU steps (staged placement)."""

from kfp import dsl

from components.images import CPU


@dsl.component(base_image=CPU, install_kfp_package=False)
def open_turns(
    config: str,
    run: str,
    iteration: int,
    state: dsl.Input[dsl.Artifact],
    turns: dsl.Output[dsl.Dataset],
    frontier: dsl.Output[dsl.Artifact],
    scored: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Draw the iteration's training tasks and write the first prompts.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        state: Training state of the iteration before.
        turns: Prompts of the first phase.
        frontier: Live episodes (JSON).
        scored: Empty record that later phases add to.
        metrics: Number of tasks, seconds.
    """
    from components.env_execution.main import open_turns as main

    inputs = {"state": state.path}
    outputs = {"turns": turns.path, "frontier": frontier.path, "scored": scored.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)


@dsl.component(base_image=CPU, install_kfp_package=False)
def execute_turn(
    config: str,
    run: str,
    iteration: int,
    frontier: dsl.Input[dsl.Artifact],
    candidates: dsl.Input[dsl.Dataset],
    scored: dsl.Input[dsl.Dataset],
    next_turns: dsl.Output[dsl.Dataset],
    next_frontier: dsl.Output[dsl.Artifact],
    next_scored: dsl.Output[dsl.Dataset],
    episodes: dsl.Output[dsl.Dataset],
    metrics: dsl.Output[dsl.Metrics],
) -> None:
    """Score candidates, execute the chosen ones and write the next prompts.

    Args:
        config: Resolved experiment configuration (JSON).
        run: Name of the experiment run.
        iteration: Number of the iteration, from 1.
        frontier: Live episodes before this phase.
        candidates: Sampled answers to this phase's prompts.
        scored: Judged answers of the phases before.
        next_turns: Prompts of the next phase; empty when nothing is left.
        next_frontier: Live episodes after this phase.
        next_scored: Judged answers so far.
        episodes: Episodes that ended so far.
        metrics: Rewards and success once all episodes ended; seconds.
    """
    from components.env_execution.main import execute_turn as main

    inputs = {"frontier": frontier.path, "candidates": candidates.path, "scored": scored.path}
    outputs = {"turns": next_turns.path, "frontier": next_frontier.path}
    outputs |= {"scored": next_scored.path, "episodes": episodes.path}
    for name, value in main(config, run, iteration, inputs, outputs).items():
        metrics.log_metric(name, value)
