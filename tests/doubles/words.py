"""An environment of few words for models made from scratch: any number of roles, any order.

The prompt shows the log of all that was executed. Every text earns something else, so that every
group has a signal. A fault can be switched on by a file, to be repaired by deleting it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

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

WORDS = tuple("abcdefgh")


@dataclass(frozen=True)
class Words:
    """A state is (task number, log of (role, word)); the first word of an answer is executed."""

    roles: tuple[str, ...] = ("first", "second")
    order: Order = Order.SERIAL
    switch: str | None = None
    """While this file exists, the environment has the fault that it names: `nan`, `no_tasks`,
    `raises` or `unknown_word`."""
    name: str = "words"
    version: str = "1"
    reward: str = "dense"

    @property
    def reward_presets(self) -> Mapping[str, RewardPreset]:
        local = {role: {"word": Bounds(0, 1)} for role in self.roles}
        return {"dense": RewardPreset(Bounds(0, 1), local)}

    def lexicon(self) -> tuple[str, ...]:
        return (*self.roles, "task", "log", *WORDS, *"0123456789")

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        stop = start if self._has("no_tasks") else start + count
        return [
            Task(f"words/{split}/{seed}/{number}", Split(split), seed, [str(split), seed, number])
            for number in range(start, stop)
        ]

    def reset(self, task: Task) -> State:
        return (task.payload[2], ())

    def observe(self, state: State, role: str) -> list[Message]:
        number, log = state
        shown = [word for entry in log for word in entry]
        shown += ["zebra"] if self._has("unknown_word") else []
        return [Message(role="user", content=" ".join([role, "task", *str(number), "log", *shown]))]

    def step(self, state: State, role: str, completion: str) -> StepResult:
        if self._has("raises"):
            raise KeyError("board")
        number, log = state
        words = [word for word in completion.split() if word in WORDS]
        word = words[0] if words else WORDS[0]
        solved = role == self.roles[-1] and word == WORDS[-1]
        value = float("nan") if self._has("nan") else WORDS.index(word) / len(WORDS)
        status = Status.SOLVED if solved else Status.RUNNING
        return StepResult((number, (*log, (role, word))), Rewards(solved, {"word": value}), status)

    def demonstrate(self, state: State, role: str, rng: Random) -> str:
        return rng.choice(WORDS)

    def encode_state(self, state: State) -> JSON:
        return [state[0], [list(entry) for entry in state[1]]]

    def decode_state(self, encoded: JSON) -> State:
        return (encoded[0], tuple((role, word) for role, word in encoded[1]))

    def _has(self, fault: str) -> bool:
        path = Path(self.switch) if self.switch else None
        return path is not None and path.exists() and path.read_text() == fault


def make_words(options: Mapping[str, JSON], reward: str) -> Words:
    """Factory for `env.name: tests.doubles.words:make_words`."""
    values = dict(options)
    if "roles" in values:
        values["roles"] = tuple(values["roles"])
    if "order" in values:
        values["order"] = Order(values["order"])
    return Words(**values, reward=reward)
