"""What was played in an iteration, as a replay needs it: the answers, the team, the first boards.

Training play is what the iteration learned from. Held-out play (greedy, one candidate) is there
where its answers were kept: of the team that the iteration loaded, and of the closing evaluation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from components import records
from components.answers import kept_answers, shown_as
from components.config import ExperimentConfig
from components.engine import Sampling
from components.env_execution.boards import Board, deal
from components.env_execution.environments import (
    held_out_tasks,
    open_benchmark,
    open_environments,
    training_tasks,
)
from components.env_execution.rules import (
    evaluation_rules,
    evaluation_sampling,
    training_rules,
    training_sampling,
)
from components.errors import ConfigError
from components.members import Member
from components.policies import PolicyRef, Team
from components.records import Scored
from components.replay.stored import reported_policies, stored_rows
from components.state import latest_iteration, read_state
from components.storage import Store
from envs.base import Split

TRAINING = "training"


@dataclass(frozen=True)
class Play:
    """The stored answers of one play."""

    name: str
    """`training`, `validation`, `closing test`, ...: as the page of episodes calls it."""
    benchmark: str | None
    """None: training."""
    rows: list[Scored]

    @property
    def episodes(self) -> list[str]:
        """In the order in which they were played."""
        return list(dict.fromkeys(row.candidate.turn.episode_id for row in self.rows))


class Beginning(NamedTuple):
    """Everything before the first answer."""

    team: Team
    boards: list[Board]
    sampling: Sampling


def plays(store: Store, run: str, iteration: int) -> Iterator[Play]:
    """Of one iteration: training first, then held-out play, that of the loaded team first."""
    rows = stored_rows(store, run, iteration)
    if rows is not None:
        yield Play(TRAINING, None, rows)
    kept = {shown_as(*key): (key[1], table)
            for key, table in kept_answers(store, run, iteration).items()}  # fmt: skip
    for name in sorted(kept, key=lambda name: (" " in name, name)):
        benchmark, table = kept[name]
        yield Play(name, benchmark, records.from_table(Scored, table))


def beginning(
    store: Store, config: ExperimentConfig, run: str, iteration: int, play: Play
) -> Beginning:
    """The team that played, its episodes before the first turn, and how answers were drawn."""
    if play.benchmark is None:
        state, members = read_state(store, run, iteration - 1), open_environments(config)
        tasks = training_tasks(members, config, state.next_task)
        boards = deal(members, tasks, training_rules(config, iteration))
        return Beginning(state.team(config), boards, training_sampling(config))
    team = _team(store, config, run, iteration, play)
    where, split = _benchmark(config, play.benchmark)
    rules = evaluation_rules(config, team.roles)
    boards = deal(where, held_out_tasks(where, split), rules, play.benchmark)
    return Beginning(team, boards, evaluation_sampling(config))


def _benchmark(config: ExperimentConfig, name: str) -> tuple[list[Member], Split]:
    """Where it is played; `validation/swapped` is another team on `validation`."""
    split = name.partition("/")[0]
    if split in (Split.VALIDATION, Split.TEST):
        return open_environments(config), Split(split)
    chosen = config.evaluation.benchmarks.get(name)
    if chosen is None:
        raise ConfigError(
            f"benchmark {name!r} was played, but the run's configuration has only "
            f"{[*config.evaluation.benchmarks]}: its tasks cannot be drawn again"
        )
    return [open_benchmark(config, name)], Split(chosen.split)


def _team(store: Store, config: ExperimentConfig, run: str, iteration: int, play: Play) -> Team:
    """Who answered, by the versions that the answers name. ConfigError for an unknown one."""
    known = _known(store, run, iteration)
    policies: dict[str, PolicyRef] = {}
    roles: dict[str, str] = {}
    for row in play.rows:
        turn, tag = row.candidate.turn, row.candidate.policy_version
        if tag not in known:
            raise ConfigError(
                f"run {run!r}, iteration {iteration}, {play.name}: role {turn.role!r} was played "
                f"by {tag}, of which neither the run's states nor its evaluation reports say "
                f"where it lies; they name {', '.join(sorted(known))}"
            )
        policies[turn.policy], roles[turn.role] = known[tag], turn.policy
    silent = dict.fromkeys(config.roles, next(iter(policies)))  # roles that were never asked
    return Team(policies, silent | roles)


def _known(store: Store, run: str, iteration: int) -> Mapping[str, PolicyRef]:
    """Tag -> reference, of all policies that may have played."""
    last = latest_iteration(store, run)
    states = [
        read_state(store, run, number)
        for number in (iteration - 1, iteration)
        if last is not None and 0 <= number <= last
    ]
    refs = [ref for state in states for ref in (*state.initial.values(), *state.policies.values())]
    return {ref.tag: ref for ref in (*refs, *reported_policies(store, run, iteration))}
