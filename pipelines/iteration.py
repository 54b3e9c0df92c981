"""One iteration of AT-GRPO as a Kubeflow pipeline, unrolled in Python from the configuration.

Wiring only: what a step does is in `components/<step>/main.py`.
"""

from typing import Any, NamedTuple

from kfp import dsl

from components.commit.component import commit
from components.config import ExperimentConfig
from components.env_execution.boards import num_steps
from components.env_execution.component import execute_turn, open_turns
from components.errors import ConfigError
from components.evaluation.component import evaluate
from components.grouping.component import group
from components.load_state.component import load_state
from components.members import open_members
from components.promotion.component import promote as promote_team
from components.rollout.component import evaluate_team, rollout, sample_turn
from pipelines.booking import Add, booking
from pipelines.compiling import MAX_TASKS
from pipelines.profile import Profile
from pipelines.updating import add_update


class Turns(NamedTuple):
    """Outputs of the nested pipeline of staged placement."""

    scored: dsl.Dataset
    episodes: dsl.Dataset


class Played(NamedTuple):
    """What playing the training episodes leaves behind: artifacts."""

    scored: Any
    episodes: Any
    evaluation: Any


def iteration_pipeline(config: ExperimentConfig, profile: Profile) -> Any:
    """The pipeline of one iteration:

    1. load_state: the training state that the iteration before left
    2. rollout: play the training episodes and, when due, evaluate the loaded team
       (placement `staged`: open_turns, then sample_turn and execute_turn by turns, evaluate_team)
    3. group: groups, advantages and their certificate
    4. update: one task for all policies, or one per policy
    5. commit: write the new training state, log to MLflow
    6. if `promote`: evaluate the new team, then promote it if it passes the gate
    """
    check_num_tasks(config)
    staged = config.rollout.placement == "staged"
    turns = turns_pipeline(config, profile) if staged else None
    warm = config.rollout.server is not None

    @dsl.pipeline(name=pipeline_name(config, "iteration"))
    def pipeline(run: str, iteration: int, promote: bool = False) -> None:
        """One iteration of AT-GRPO: play, group, update every policy, commit the new state.

        Args:
            run: Name of the training run; its states and policies lie under this name.
            iteration: The iteration to make, from 1; the state of the one before must exist.
            promote: Whether to evaluate the new team and promote it if it passes the gate.
        """
        add = booking(profile, config.to_json(), run, iteration, warm)
        state = add(load_state).outputs["state"]
        played = _play_staged(add, turns, state) if staged else _play_fused(add, state)
        groups = add(group, scored=played.scored)
        updates = _update(add, config, profile, state, groups)
        committed = _commit(add, state, played, groups, updates)
        with dsl.If(promote == True, name="promotion"):  # noqa: E712
            add_promotion(add, committed)

    return pipeline


def add_promotion(add: Add, state: Any) -> None:
    """Evaluate the team of a training state, then promote it if it passes the gate."""
    evaluated = add(evaluate, state=state)
    add(
        promote_team,
        state=state,
        evaluation=evaluated.outputs["evaluation"],
        report=evaluated.outputs["report"],
    )


def pipeline_name(config: ExperimentConfig, kind: str) -> str:
    """Kebab case, as Kubeflow's UI has it."""
    return f"rolewise-{config.name}-{kind}".replace("_", "-")


def check_num_tasks(config: ExperimentConfig) -> None:
    """ConfigError if one run would have more than MAX_TASKS tasks."""
    count = num_tasks(config)
    if count <= MAX_TASKS:
        return
    if config.rollout.placement == "staged":
        raise ConfigError(
            f"placement staged unrolls {num_rollouts(config)} phases (turns x roles in serial "
            f"order) into {count} tasks, expected at most {MAX_TASKS}; "
            "set rollout.placement to fused, or take fewer turns"
        )
    raise ConfigError(
        f"{len(update_shares(config))} policies, each updated by a task of its own, make {count} "
        f"tasks, expected at most {MAX_TASKS}; set update.share_process to true"
    )


def num_tasks(config: ExperimentConfig) -> int:
    """Tasks of one iteration, promotion included: load_state, group, commit, evaluate, promote,
    the updates, and rollout or its stages."""
    stages = 1
    if config.rollout.placement == "staged":
        stages = 2 + 2 * num_rollouts(config)
    return 5 + len(update_shares(config)) + stages


def num_rollouts(config: ExperimentConfig) -> int:
    """Rollouts until the longest episode is over: in every turn one for each role, or one for all
    if the roles act in parallel. Episodes of several environments share them."""
    return num_steps(open_members(config))


def update_shares(config: ExperimentConfig) -> list[list[str]]:
    """The policies of each update task."""
    if config.update.share_process:
        return [config.trainable]
    return [[name] for name in config.trainable]


def _play_fused(add: Add, state: Any) -> Played:
    """Whole episodes in one step."""
    played = add(rollout, state=state).outputs
    return Played(played["scored"], played["episodes"], played["evaluation"])


def _play_staged(add: Add, turns: Any, state: Any) -> Played:
    """Generation and environments by turns, each in its own step; evaluation whole."""
    played = add(turns, state=state).outputs
    evaluation = add(evaluate_team, state=state).outputs["evaluation"]
    return Played(played["scored"], played["episodes"], evaluation)


def turns_pipeline(config: ExperimentConfig, profile: Profile) -> Any:
    """All turns of staged placement as a nested pipeline: open_turns, then for every turn and
    phase sample_turn and execute_turn. Nested, so that the configuration is a constant of one
    task and not of forty: a DAG may have 64 KiB."""

    num_phases, warm = num_rollouts(config), config.rollout.server is not None

    @dsl.pipeline(name="turns")
    def turns(config: str, run: str, iteration: int, state: dsl.Input[dsl.Artifact]) -> Turns:
        """Play the training episodes turn by turn.

        Args:
            config: The resolved configuration.
            run: Name of the training run.
            iteration: The iteration to play.
            state: The training state that is played.
        """
        add = booking(profile, config, run, iteration, warm)
        current = dict(add(open_turns, state=state).outputs)
        for _ in range(num_phases):
            sampled = add(sample_turn, state=state, turns=current["turns"]).outputs
            executed = add(
                execute_turn,
                frontier=current["frontier"],
                candidates=sampled["candidates"],
                scored=current["scored"],
            ).outputs
            current = {name.removeprefix("next_"): value for name, value in executed.items()}
        return Turns(scored=current["scored"], episodes=current["episodes"])

    return turns


def _update(
    add: Add, config: ExperimentConfig, profile: Profile, state: Any, groups: Any
) -> list[Any]:
    """The update tasks."""
    certified = {name: groups.outputs[name] for name in ("samples", "certificate")}
    return [
        add_update(add, config, profile, state=state, policies=share, **certified)
        for share in update_shares(config)
    ]


def _commit(add: Add, state: Any, played: Played, groups: Any, updates: list[Any]) -> Any:
    """The new training state."""
    task = add(
        commit,
        state=state,
        updates=[task.outputs["Output"] for task in updates],
        samples=groups.outputs["samples"],
        certificate=groups.outputs["certificate"],
        episodes=played.episodes,
        evaluation=played.evaluation,
    )
    return task.outputs["new_state"]
