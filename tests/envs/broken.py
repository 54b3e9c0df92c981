"""A tiny honest environment, and one lie each: what `check_env` must find."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from envs.base import (
    Attempt,
    Bounds,
    Message,
    Order,
    RewardPreset,
    Rewards,
    Split,
    Status,
    StepResult,
    Task,
)


@dataclass
class Counter:
    """A state; mutable so that liars can change it."""

    target: int
    log: list[str] = field(default_factory=list)


class Honest:
    """Say the number that is shown."""

    name, version, roles, order = "honest", "1", ("speaker",), Order.SERIAL
    reward = "dense"
    reward_presets = {"dense": RewardPreset(Bounds(0, 1), {"speaker": {"close": Bounds(-1, 0)}})}

    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        offset = {"train": 0, "validation": 1, "test": 2}[split.value]
        return [
            Task(f"{split.value}/{seed}/{index}", split, seed, 3 * (1000 * seed + index) + offset)
            for index in range(start, start + count)
        ]

    def reset(self, task: Task) -> Any:
        return Counter(task.payload)

    def observe(self, state: Any, role: str) -> list[Message]:
        return [{"role": "user", "content": f"say {state.target}"}]

    def step(self, state: Any, role: str, completion: str) -> StepResult:
        right = completion == str(state.target)
        after = Counter(state.target, [*state.log, "right" if right else "wrong"])
        status = Status.SOLVED if right else Status.RUNNING
        return StepResult(after, Rewards(float(right), {"close": 0.0 if right else -0.5}), status)

    def encode_state(self, state: Any) -> Any:
        return {"target": state.target, "log": list(state.log)}

    def decode_state(self, encoded: Any) -> Any:
        return Counter(encoded["target"], list(encoded["log"]))

    def demonstrate(self, state: Any, role: str, rng: Random) -> str:
        return str(state.target) if rng.random() < 0.3 else "0"


class GlobalGenerator(Honest):
    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return [
            Task(task.task_id, split, seed, task.payload + 3 * random.randrange(10**6) + 10**6)
            for task in super().tasks(split, seed, start, count)
        ]


class CursorIgnored(Honest):
    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return super().tasks(split, seed, 0, count)


class SplitsShared(Honest):
    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return [
            Task(task.task_id, split, seed, 1) for task in super().tasks(split, seed, start, count)
        ]


class ForgetsLog(Honest):
    def decode_state(self, encoded: Any) -> Any:
        return Counter(encoded["target"])


class ChangesState(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        result = super().step(state, role, completion)
        state.log.append("seen")
        return result


class Raises(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        int(completion)
        return super().step(state, role, completion)


class LeavesBounds(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        return super().step(state, role, completion)._replace(rewards=Rewards(0.0, {"close": -2.0}))


class UndeclaredPart(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        return super().step(state, role, completion)._replace(rewards=Rewards(0.0, {"charm": 0.0}))


class NotANumber(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        rewards = Rewards(float("nan"), {"close": 0.0})
        return super().step(state, role, completion)._replace(rewards=rewards)


class PaysForNonsense(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        return super().step(state, role, completion)._replace(rewards=Rewards(0.5, {"close": 0.0}))


class TimeoutIsSuccess(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        result = super().step(state, role, completion)
        return result._replace(status=Status.SOLVED) if state.log else result


class CountsTurns(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        return super().step(state, role, completion)._replace(status=Status.OUT_OF_TURNS)


class FailureWithFullReward(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        result = super().step(state, role, completion)
        return result._replace(status=Status.FAILED if result.rewards.team else result.status)


class Chatters(Honest):
    def observe(self, state: Any, role: str) -> list[Message]:
        return [{"role": "user", "content": f"say {state.target} {random.random()}"}]


class SaysNothing(Honest):
    def observe(self, state: Any, role: str) -> list[Message]:
        return []


class Moody(Honest):
    def step(self, state: Any, role: str, completion: str) -> StepResult:
        rewards = Rewards(0.0, {"close": -random.random()})
        return super().step(state, role, completion)._replace(rewards=rewards)


class ShortLexicon(Honest):
    def lexicon(self) -> tuple[str, ...]:
        return ("say",)


class WideBounds(Honest):
    reward_presets = {"dense": RewardPreset(Bounds(0, 10), {"speaker": {"close": Bounds(-1, 0)}})}


class StrangeRole(Honest):
    reward_presets = {"dense": RewardPreset(Bounds(0, 1), {"listener": {"close": Bounds(-1, 0)}})}


class OneIdForAll(Honest):
    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return [
            Task("the task", split, seed, task.payload)
            for task in super().tasks(split, seed, start, count)
        ]


class RunsDry(Honest):
    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return super().tasks(split, seed, start, count)[:2]


class EndsSoon(Honest):
    """Honest: few tasks, and it says so."""

    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        if start + count > 17:
            raise ValueError(f"there are 17 tasks, not {start + count}")
        return super().tasks(split, seed, start, count)


class GivesWhatThereIs(Honest):
    """Honest: few tasks, and the last slice is short."""

    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return super().tasks(split, seed, start, max(0, min(count, 17 - start)))


class EndlessStream(Honest):
    """Says nothing of how many tasks there are."""

    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        if start + count > 2:
            raise ValueError("no more tasks")
        return super().tasks(split, seed, start, count)


class GivesTooMany(Honest):
    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return super().tasks(split, seed, start, count + 1)


class NoTasks(Honest):
    def tasks(self, split: Split, seed: int, start: int, count: int) -> list[Task]:
        return []


class HashesText(Honest):
    """The same within a process, different in the next."""

    def step(self, state: Any, role: str, completion: str) -> StepResult:
        close = -(hash(f"x{completion}") % 1000) / 1000
        return (
            super().step(state, role, completion)._replace(rewards=Rewards(0.0, {"close": close}))
        )


class OrderOfASet(Honest):
    def observe(self, state: Any, role: str) -> list[Message]:
        words = {f"word{number}" for number in range(40)}
        return [{"role": "user", "content": f"say {state.target} of {' '.join(words)}"}]


class DiesElsewhere(Honest):
    def reset(self, task: Task) -> Any:
        if "PYTEST_CURRENT_TEST" in os.environ and "PYTHONHASHSEED" in os.environ:
            raise RuntimeError("not in this process")
        return super().reset(task)


class PatienceWins(Honest):
    """Whoever is wrong for long enough is right."""

    def step(self, state: Any, role: str, completion: str) -> StepResult:
        result = super().step(state, role, completion)
        return result._replace(status=Status.SOLVED) if len(state.log) >= 2 else result


class PaysForInvalidMoves(Honest):
    """A number that is not asked for is a readable answer, and earns nothing."""

    reward_presets = {"dense": RewardPreset(Bounds(0, 1), {"speaker": {"close": Bounds(-1, 1)}})}

    def step(self, state: Any, role: str, completion: str) -> StepResult:
        result = super().step(state, role, completion)
        paid = completion.isdecimal() and completion != str(state.target)
        local = {"close": 0.3 if paid else -0.5}
        return result._replace(rewards=Rewards(result.rewards.team, local))


class Batched(Honest):
    """Honest: judges many as it judges one."""

    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        return [self.step(*attempt) for attempt in attempts]


class BatchTurnsRound(Batched):
    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        return super().step_many(attempts)[::-1]


class BatchLosesOne(Batched):
    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        return super().step_many(attempts)[1:]


class BatchNeverEmpty(Batched):
    def step_many(self, attempts: Sequence[Attempt]) -> list[StepResult]:
        return super().step_many(attempts or [Attempt(Counter(0), "speaker", "")])


class Pictured(Honest):
    """Honest: shows the number."""

    def picture(self, state: Any) -> str:
        return f"[{state.target}]"


class PictureOfNothing(Pictured):
    def picture(self, state: Any) -> str:
        return " "


class MovingPicture(Pictured):
    def picture(self, state: Any) -> str:
        return f"{super().picture(state)} {random.random()}"


class PictureLeavesMark(Pictured):
    def picture(self, state: Any) -> str:
        state.log.append("looked at")
        return super().picture(state)


class PictureOfTheEndRaises(Pictured):
    def picture(self, state: Any) -> str:
        if "right" in state.log:
            raise IndexError("nothing to draw")
        return super().picture(state)


class RemembersObjects(Honest):
    """Shows what JSON forgets."""

    def observe(self, state: Any, role: str) -> list[Message]:
        mark = "again" if getattr(state, "decoded", False) else "first"
        return [{"role": "user", "content": f"say {state.target} {mark}"}]

    def decode_state(self, encoded: Any) -> Any:
        state = super().decode_state(encoded)
        state.decoded = True
        return state


class FickleTeacher(Honest):
    def demonstrate(self, state: Any, role: str, rng: Random) -> str:
        return str(random.randrange(100))


class PicksSides(Honest):
    """In parallel order the second writer reads the state at the start of the turn."""

    roles, order = ("speaker", "listener"), Order.PARALLEL
    reward_presets = {
        "dense": RewardPreset(
            Bounds(0, 1), {role: {"close": Bounds(-1, 0)} for role in ("speaker", "listener")}
        )
    }

    def observe(self, state: Any, role: str) -> list[Message]:
        return [] if len(state.log) % 2 else super().observe(state, role)


class QuotesAnything(Honest):
    """Lets illegal text into its prompts: they are no longer of the words that it declares."""

    def step(self, state: Any, role: str, completion: str) -> StepResult:
        result = super().step(state, role, completion)
        result.state.log[-1] = completion[:20]
        return result

    def observe(self, state: Any, role: str) -> list[Message]:
        return [{"role": "user", "content": f"say {state.target} {' '.join(state.log)}"}]

    def lexicon(self) -> tuple[str, ...]:
        return ("say", *map(str, range(10_000)))
