"""Environments whose states show exactly what was executed.

`Tracer`: each role appends what it wrote to a log, and its reward is the digit that it wrote.
Options make it serial or parallel, of any number of roles, and let certain texts end the episode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envs.base import (
    JSON,
    Bounds,
    Message,
    Order,
    RewardPreset,
    Rewards,
    Split,
    State,
    Status,
    StepResult,
    Task,
)


@dataclass(frozen=True)
class Tracer:
    """A state is (task number, log); an entry of the log is role + text, e.g. `A5`."""

    roles: tuple[str, ...] = ("A", "B")
    order: Order = Order.SERIAL
    endings: Mapping[str, Status] = field(default_factory=dict)
    """Log entry -> the status that it ends the episode with; `task:entry` only in that task."""
    rewards: Mapping[str, float] = field(default_factory=dict)
    """Log entry -> local reward, where it is not the digit."""
    team: Mapping[str, float] = field(default_factory=dict)
    """Log entry -> team reward; 0 for others."""
    num_tasks: int = 1000
    name: str = "tracer"
    version: str = "1"
    reward: str = "dense"

    @property
    def reward_presets(self) -> Mapping[str, RewardPreset]:
        return {"dense": RewardPreset(Bounds(-1, 1))}

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        stop = min(start + count, self.num_tasks)
        return [
            Task(f"tracer/{split}/{seed}/{number}", Split(split), seed, number)
            for number in range(start, stop)
        ]

    def reset(self, task: Task) -> State:
        return (task.payload, ())

    def observe(self, state: State, role: str) -> list[Message]:
        number, log = state
        return [Message(role="user", content=f"{role} task {number} log [{','.join(log)}]")]

    def step(self, state: State, role: str, completion: str) -> StepResult:
        number, log = state
        assert not log or log[-1] != "END", "an ended episode was stepped"
        entry = f"{role}{completion}"
        ending = self.endings.get(entry, self.endings.get(f"{number}:{entry}", Status.RUNNING))
        local = self.rewards.get(entry, float(completion) if completion.isdigit() else 0.0)
        new = (number, (*log, entry) if ending == Status.RUNNING else (*log, entry, "END"))
        return StepResult(new, Rewards(self.team.get(entry, 0.0), {"digit": local}), ending)

    def encode_state(self, state: State) -> JSON:
        return {"number": state[0], "log": list(state[1])}

    def decode_state(self, encoded: JSON) -> State:
        return (encoded["number"], tuple(encoded["log"]))


def make_tracer(options: Mapping[str, JSON], reward: str) -> Tracer:
    """Factory for `env.name: tests.doubles.environments:make_tracer`."""
    values = dict(options)
    if "roles" in values:
        values["roles"] = tuple(values["roles"])
    if "order" in values:
        values["order"] = Order(values["order"])
    if "endings" in values:
        values["endings"] = {entry: Status(name) for entry, name in values["endings"].items()}
    return Tracer(**values, reward=reward)


def three_roles(order: Order = Order.SERIAL) -> Tracer:
    """Roles A, B and C."""
    return Tracer(roles=("A", "B", "C"), order=order)


def parallel_roles() -> Tracer:
    """Roles A and B that write at the same time."""
    return Tracer(order=Order.PARALLEL)
