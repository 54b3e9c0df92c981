"""An episode that a trained team plays, shown on the terminal: engines here, or servers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from components.env_execution.rules import evaluation_sampling
from components.errors import ConfigError
from components.members import Member, open_members
from components.models.asking import EngineTeam, ServedTeam, Team
from envs.base import Environment, Pictures, Split, State, Status, StepResult
from envs.playing import Table, play
from pipelines.teams import FoundTeam


@dataclass(frozen=True)
class Choice:
    """Which episode, and how it is shown."""

    env: str | None
    """One of several environments; None: the first."""
    split: Split
    seed: int
    index: int
    people: tuple[str, ...]
    """Roles that a person plays in the team."""
    prompts: bool


@contextmanager
def asked(found: FoundTeam, urls: list[str], key: str | None) -> Iterator[Team]:
    """The team behind servers, or in engines of this process."""
    sampling = evaluation_sampling(found.config)
    if urls:
        yield ServedTeam(urls, list(found.team.roles), sampling, key)
        return
    from components.rollout.engines import open_engine

    cache = Path(found.config.storage.cache)
    engine = open_engine(found.config.rollout, found.team, found.store, cache)
    try:
        yield EngineTeam(engine, found.team.roles, sampling)
    finally:
        engine.close()


def play_episode(found: FoundTeam, team: Team, choice: Choice) -> Status:
    """Play and show one episode; the status in which it ended."""
    member = _member(open_members(found.config), choice.env)
    strangers = sorted(set(choice.people) - set(member.env.roles))
    if strangers:
        raise ConfigError(f"--role {strangers[0]}: expected one of {list(member.env.roles)}")
    try:
        (task,) = member.env.tasks(choice.split, choice.seed, choice.index, 1)
    except ValueError as error:
        raise ConfigError(f"environment {member.name!r} has no such task: {error}") from error
    env = answered(member.env, team)
    return play(Table(env, choice.people, choice.prompts, Random(0)), task, member.num_turns)


def answered(env: Environment, team: Team) -> "Answered":
    """The environment whose example answers are the team's: so `envs.playing` shows a team."""
    return AnsweredWithPictures(env, team) if isinstance(env, Pictures) else Answered(env, team)


class Answered:
    """An environment in which demonstrations are answers of the team."""

    def __init__(self, env: Environment, team: Team) -> None:
        self._env, self._team = env, team
        self.name, self.version = env.name, env.version
        self.roles, self.order = env.roles, env.order
        self.reward, self.reward_presets = env.reward, env.reward_presets
        self.tasks, self.reset, self.observe = env.tasks, env.reset, env.observe
        self.encode_state, self.decode_state = env.encode_state, env.decode_state

    def step(self, state: State, role: str, completion: str) -> StepResult:
        """See Environment."""
        return self._env.step(state, role, completion)

    def demonstrate(self, state: State, role: str, rng: Random) -> str:
        """What the team answers; greedy, so nothing is drawn."""
        return self._team.answer(role, self._env.observe(state, role))


class AnsweredWithPictures(Answered):
    """Of an environment that can be looked at."""

    def picture(self, state: State) -> str:
        """See Pictures."""
        assert isinstance(self._env, Pictures)
        return self._env.picture(state)


def _member(members: list[Member], name: str | None) -> Member:
    found = [member for member in members if name in (None, member.name)]
    if not found:
        raise ConfigError(f"--env {name}: expected one of {[item.name for item in members]}")
    return found[0]
