"""Replays an episode, or one branch of it, from what the store has of its run.

1. the stored answers of the iteration, and the policies that gave them
2. the same tasks: from the cursor of the state before, or the held-out ones
3. the episode alone: generate, compare, execute what is stored
4. if a token differs: once more in the batch in which it was drawn
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.policies import Team
from components.process import without_collector
from components.records import Scored
from components.replay.branch import Branch, branch_names
from components.replay.difference import Compared
from components.replay.finding import find_play
from components.replay.plays import beginning
from components.replay.walk import Walked, Wanted, only, walk
from components.storage import Store


@dataclass(frozen=True)
class Replay:
    """What came of it."""

    run: str
    iteration: int
    episode: str
    play: str
    """`training`, `validation`, `closing test`, ..."""
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
    play: str | None = None,
) -> Replay:
    """`batch`: `alone`, `whole` (as it was drawn), or `auto`: alone, then whole if a token differs.
    `play`: which, where several played the episode; None: the first, which `say` is told.

    ConfigError if the episode or branch is not stored; StorageError if a policy is gone.
    """
    played = find_play(store, run, iteration, episode, play, say)
    stored = played.rows
    _check_branch(stored, episode, branch)
    team, boards, sampling = beginning(store, config, run, iteration, played)
    _check_versions(team, stored)
    engine = _open(store, config, _needed(team, stored, branch, batch))

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
        return Replay(run, iteration, episode, played.name, engine.name, *found, whole)
    finally:
        engine.close()


def _check_branch(rows: list[Scored], episode: str, branch: Branch | None) -> None:
    own = [row.candidate for row in rows if row.candidate.turn.episode_id == episode]
    if branch and not any(branch.holds(item) for item in own):
        known = branch_names(own, with_nodes=branch.node is not None)
        raise ConfigError(
            f"episode {episode!r} has no branch {branch.text}; its branches: "
            f"{', '.join(known[:12])}{' ...' if len(known) > 12 else ''}"
        )


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
