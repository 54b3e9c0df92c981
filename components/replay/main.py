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
from components.replay.branch import Branch
from components.replay.difference import Compared
from components.replay.plays import Play, beginning, plays
from components.replay.walk import Walked, Wanted, only, walk
from components.state import latest_iteration
from components.storage import Store

NOT_KEPT = (
    "Held-out answers are kept of greedy play by `rollout` and `evaluate`, not of runs that older "
    "versions made, nor of `compare --evaluate`"
)


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
    played = _played(store, run, iteration, episode, play, say)
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


def find_iteration(store: Store, run: str, episode: str, play: str | None = None) -> int:
    """The last iteration that played this episode. ConfigError names what was played last."""
    last = latest_iteration(store, run) or 0
    known: list[str] = []
    for iteration in range(last + 1, -1, -1):  # one may be under way
        found = [it for it in plays(store, run, iteration) if play in (None, it.name)]
        if any(episode in it.episodes for it in found):
            return iteration
        known = known or [f"{it.name}: {', '.join(it.episodes[:2])}, ..." for it in found]
    raise ConfigError(
        f"run {run!r} has no stored answers of episode {episode!r}"
        f"{f' in {play!r}' if play else ''} in {store.uri}; its last ones: "
        f"{'; '.join(known) or 'none'}. {NOT_KEPT}"
    )


def _played(
    store: Store, run: str, iteration: int, episode: str, name: str | None,
    say: Callable[[str], None],
) -> Play:  # fmt: skip
    """The play that is asked for. ConfigError says what the iteration has instead."""
    every = list(plays(store, run, iteration))
    having = [play for play in every if episode in play.episodes]
    chosen = next((play for play in having if name in (None, play.name)), None)
    if chosen is None:
        what = f"run {run!r}, iteration {iteration}: no stored answers of episode {episode!r}"
        has = ", ".join(repr(play.name) for play in (having or every)) or "nothing"
        if having:
            raise ConfigError(f"{what} in {name!r}; it was played in {has}")
        raise ConfigError(f"{what}; kept of the iteration: {has}. {NOT_KEPT}")
    if len(having) > 1 and name is None:
        others = ", ".join(repr(play.name) for play in having if play is not chosen)
        say(f"as played in {chosen.name!r}; --play chooses another: {others}")
    return chosen


def _check_branch(rows: list[Scored], episode: str, branch: Branch | None) -> None:
    own = [row.candidate for row in rows if row.candidate.turn.episode_id == episode]
    if branch and not any(branch.holds(item) for item in own):
        known = sorted({f"{it.turn.turn}/{it.turn.role}/{it.candidate}" for it in own})
        raise ConfigError(
            f"episode {episode!r} has no branch {branch.turn}/{branch.role}/{branch.candidate}; "
            f"its branches: {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}"
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
