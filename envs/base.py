"""The contract between an environment and everything that plays it.

An environment is a pure function of immutable states: it draws tasks, shows a role what it may
see, and judges a role's text. It knows nothing of models, turns left, groups or training; the
turn loop (`components/env_execution`) counts turns and decides which candidate is executed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple, Protocol, TypedDict, runtime_checkable

JSON = Any
"""A JSON value: what `json.loads` returns."""

State = Any
"""An immutable value that the environment alone looks into (a frozen dataclass or a tuple)."""


class Message(TypedDict):
    """One chat message as the tokenizer's chat template takes it."""

    role: str
    content: str


class Split(StrEnum):
    """Splits are disjoint by content, not only by seed."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Order(StrEnum):
    """Who sees what within one turn."""

    SERIAL = "serial"
    """A role sees what the roles before it did in the same turn."""
    PARALLEL = "parallel"
    """All roles write from the state at the start of the turn."""


class Status(StrEnum):
    """How an episode stands; only `SOLVED` is success."""

    RUNNING = "running"
    SOLVED = "solved"
    FAILED = "failed"
    """Ended by the environment without success."""
    OUT_OF_TURNS = "out_of_turns"
    """Set by the turn loop, never by an environment."""
    ERROR = "error"
    """No candidate could be generated or judged; never counted as an answer."""


@dataclass(frozen=True)
class Task:
    """One problem instance. The same (env, options, split, seed, index) is always the same task."""

    task_id: str
    """Unique over all splits, e.g. `plan_path/train/0/17`."""
    split: Split
    seed: int
    """The stream it was drawn from."""
    payload: JSON
    """All that `reset` needs; its canonical JSON is the content that keeps splits apart."""


class Rewards(NamedTuple):
    """What one role's action earned. The mixture `alpha * team + sum(local)` is the turn loop's."""

    team: float
    """Shared by all roles, in [-1, 1]."""
    local: Mapping[str, float]
    """The role's own parts by name; each stays within the bounds its preset declares."""


class StepResult(NamedTuple):
    """The state after one role's action, and how it was judged."""

    state: State
    rewards: Rewards
    status: Status


@dataclass(frozen=True)
class Bounds:
    """Closed interval of a reward part, inside [-1, 1]."""

    low: float
    high: float


@dataclass(frozen=True)
class RewardPreset:
    """The parts an environment may return under one preset, with their bounds."""

    team: Bounds
    local: Mapping[str, Mapping[str, Bounds]] = field(default_factory=dict)
    """role -> part -> bounds."""


class Environment(Protocol):
    """A task family. Methods are pure: same arguments, same result, no state in `self` changes."""

    name: str
    version: str
    """Changes whenever prompts, rewards or rules change; pinned in a promoted team's manifest."""
    roles: tuple[str, ...]
    """In the order in which they act."""
    order: Order
    reward: str
    """The chosen preset's name."""
    reward_presets: Mapping[str, RewardPreset]

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """Tasks start .. start + count - 1 of the split's stream `seed` (a cursor).

        A stream may end. A slice across its end is shorter, which callers use as it is, or a
        ValueError that says how many tasks there are; a slice behind it is a ValueError or empty.
        Both of these stop a run: nothing begins the stream again.
        """
        ...

    def reset(self, task: Task) -> State:
        """The state in which an episode of the task begins."""
        ...

    def observe(self, state: State, role: str) -> list[Message]:
        """The prompt of `role`, rebuilt from the state alone."""
        ...

    def step(self, state: State, role: str, completion: str) -> StepResult:
        """Judge and execute one text. Illegal text never raises: it is an outcome."""
        ...

    def encode_state(self, state: State) -> JSON:
        """The state as a JSON value; `decode_state(encode_state(s)) == s`."""
        ...

    def decode_state(self, encoded: JSON) -> State:
        """The inverse of `encode_state`."""
        ...


class Attempt(NamedTuple):
    """One text of a role in a state: the arguments of `Environment.step`."""

    state: State
    role: str
    completion: str


@runtime_checkable
class StepsMany(Protocol):
    """An environment that judges many texts sooner together than one by one."""

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        """What `step` returns for each, in order: programs run side by side on all cores."""
        ...


@runtime_checkable
class Pictures(Protocol):
    """An environment that can show a person where an episode stands."""

    def picture(self, state: State) -> str:
        """A few lines of text; for people, never part of a prompt."""
        ...


@runtime_checkable
class Demonstrates(Protocol):
    """An environment that can warm-start cold models by showing example answers."""

    def demonstrate(self, state: State, role: str, rng: Random) -> str:
        """An example completion of `role` in `state`; its quality is the environment's choice."""
        ...


@runtime_checkable
class HasLexicon(Protocol):
    """An environment whose prompts and answers use a closed set of whitespace-separated words.

    Tiny models made from the configuration get a word-level tokenizer of exactly these words.
    """

    def lexicon(self) -> tuple[str, ...]:
        """Every word that a prompt or a demonstrated answer can contain, in a fixed order."""
        ...


class EnvironmentFactory(Protocol):
    """What the registry stores: builds an environment from its YAML options."""

    def __call__(self, options: Mapping[str, JSON], reward: str) -> Environment:
        """Raise ValueError that names the option, the value and what is allowed."""
        ...
