"""Replays an episode, or one branch of it, from what the store has of its run.

1. the stored answers of the iteration, and the policies that gave them
2. the same tasks from the cursor of the state before
3. the episode alone: generate, compare, execute what is stored
4. if a token differs: once more in the batch in which it was drawn
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.env_execution.boards import Board, deal
from components.env_execution.environments import open_environments, training_tasks
from components.env_execution.rules import training_rules, training_sampling
from components.errors import ConfigError
from components.policies import Team
from components.process import without_collector
from components.records import Scored
from components.replay.branch import Branch
from components.replay.difference import Compared
from components.replay.stored import stored_rows
from components.replay.walk import Walked, Wanted, only, walk
from components.state import read_state
from components.storage import Store


@dataclass(frozen=True)
class Replay:
    """What came of it."""

    run: str
    iteration: int
    episode: str
    engine: str
    answers: list[Compared]
    faults: list[str]
    """Prompts, rewards, picks and endings that are not as stored."""
    whole_batch: bool
    """Whether the last attempt was in the batch of then."""

    @property
    def same(self) -> bool:
        """Whether everything that was compared is the same."""
        return not self.faults and all(item.same for item in self.answers)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        answers = [item.to_json() for item in self.answers]
        return {"schema_version": 1, "same": self.same, **vars(self), "answers": answers}


def replay(
    store: Store,
    config: ExperimentConfig,
    run: str,
    iteration: int,
    episode: str,
    branch: Branch | None,
    say: Callable[[str], None],
    batch: str = "auto",
) -> Replay:
    """`batch`: `alone`, `whole` (as it was drawn), or `auto`: alone, then whole if a token differs.

    ConfigError if the episode or branch is not stored; StorageError if a policy is gone.
    """
    stored = _rows(store, run, iteration, episode, branch)
    team, boards = _beginning(store, config, run, iteration)
    _check_versions(team, stored)
    engine = _open(store, config, _needed(team, stored, branch, batch))
    sampling = training_sampling(config)

    def attempt(whole: bool) -> Walked:
        chosen = boards if whole else only(boards, episode)
        wanted = Wanted(episode, branch, whole)
        return walk(engine, chosen, stored, wanted, sampling, lambda item: say(item.line))

    try:
        whole = batch == "whole"
        found = attempt(whole)
        if batch == "auto" and not all(item.same for item in found.answers):
            say("a token differs: once more in the batch in which it was drawn")
            whole, found = True, attempt(True)
        return Replay(run, iteration, episode, engine.name, *found, whole)
    finally:
        engine.close()


def _rows(
    store: Store, run: str, iteration: int, episode: str, branch: Branch | None
) -> list[Scored]:
    """All rows of the iteration; ConfigError unless what is asked for is among them."""
    rows = stored_rows(store, run, iteration) or []
    own = [row.candidate for row in rows if row.candidate.turn.episode_id == episode]
    if not own:
        raise ConfigError(
            f"run {run!r}, iteration {iteration}: no stored answers of episode {episode!r}"
        )
    if branch and not any(branch.holds(item) for item in own):
        known = sorted({f"{it.turn.turn}/{it.turn.role}/{it.candidate}" for it in own})
        raise ConfigError(
            f"episode {episode!r} has no branch {branch.turn}/{branch.role}/{branch.candidate}; "
            f"its branches: {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}"
        )
    return rows


def _beginning(
    store: Store, config: ExperimentConfig, run: str, iteration: int
) -> tuple[Team, list[Board]]:
    """The team that played, and its episodes before the first turn."""
    state = read_state(store, run, iteration - 1)
    members = open_environments(config)
    tasks = training_tasks(members, config, state.next_task)
    return state.team(config), deal(members, tasks, training_rules(config, iteration))


def _check_versions(team: Team, stored: list[Scored]) -> None:
    """The answers name the policy versions that gave them: they must be the state's."""
    for row in stored:
        ref = team.policies[row.candidate.turn.policy]
        if row.candidate.policy_version != ref.tag:
            raise ConfigError(
                f"the stored answers of policy {ref.name!r} are of "
                f"{row.candidate.policy_version}, the state before has {ref.tag}: was the "
                "iteration's state replaced?"
            )


def _needed(team: Team, stored: list[Scored], branch: Branch | None, batch: str) -> Team:
    """Of the team what has to be loaded: all, but for one branch that is generated alone."""
    if branch is None or batch != "alone":
        return team
    return Team(team.policies, {branch.role: team.roles[branch.role]})


def _open(store: Store, config: ExperimentConfig, team: Team) -> Any:
    from components.rollout.engines import open_engine

    with without_collector():
        return open_engine(config.rollout, team, store, Path(config.storage.cache))
