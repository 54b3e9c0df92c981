"""How one team's held-out episodes ended, task by task: the common form of what is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.records import Episode
from components.tracking.description import digest
from envs.base import Status


@dataclass(frozen=True)
class Outcome:
    """One task."""

    env: str
    """The environment that the task is of."""
    solved: bool
    num_turns: int
    rewards: Mapping[str, float] = field(default_factory=dict)
    """role -> mean reward of its answers; empty where they were not kept."""


@dataclass(frozen=True)
class HeldOut:
    """One team on one benchmark."""

    run: str
    iteration: int
    source: str
    """The step that played it."""
    tasks: Mapping[str, Any]
    """What the tasks are drawn from, see `task_source`: equal sources have equal tasks."""
    outcomes: Mapping[str, Outcome]
    """By task id."""

    @property
    def label(self) -> str:
        """`<run>@<iteration>`."""
        return f"{self.run}@{self.iteration}"

    @property
    def has_rewards(self) -> bool:
        """Whether rewards by role were kept with the outcomes."""
        return any(outcome.rewards for outcome in self.outcomes.values())


def outcomes_of(
    episodes: Sequence[Episode], rewards: Mapping[str, Mapping[str, float]]
) -> dict[str, Outcome]:
    """Task id -> its outcome; `rewards` as env_execution's `rewards_by_task`, or empty."""
    return {
        episode.task_id: Outcome(
            episode.env,
            episode.status == Status.SOLVED,
            episode.num_turns,
            rewards.get(episode.task_id, {}),
        )
        for episode in episodes
    }


def benchmark_names(config: ExperimentConfig) -> list[str]:
    """What a team can be played on."""
    return ["validation", "test", *config.evaluation.benchmarks]


def check_benchmark(config: ExperimentConfig, benchmark: str) -> None:
    """ConfigError, with the names that there are, for another one."""
    known = benchmark_names(config)
    if benchmark not in known:
        raise ConfigError(
            f"benchmark {benchmark!r} is unknown to experiment {config.name!r}; "
            f"known: {', '.join(known)}"
        )


def task_source(config: ExperimentConfig, benchmark: str) -> dict[str, Any]:
    """Environments and options that a benchmark's tasks come from; task ids do not name these."""
    members = config.environments
    chosen = config.evaluation.benchmarks.get(benchmark)
    if chosen is None:
        names = {name: member.name or name for name, member in members.items()}
        source: dict[str, Any] = {
            name: [names[name], member.options] for name, member in members.items()
        }
    else:
        name = chosen.env or next(iter(members))
        own = members.get(name)
        kind = (own.name if own else None) or name
        names = {benchmark: kind}
        source = {benchmark: [kind, {**(own.options if own else {}), **chosen.options}]}
    return {"env": " + ".join(names.values()), "digest": digest(source)[:12]}
