"""reasoning-gym as an environment: one generator's questions for a reasoner, or with a checker.

Rules, options and rewards are in README.md; the package's graders judge the answers. Turns are
counted elsewhere.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from envs.base import JSON, Message, Order, Rewards, Split, Status, StepResult, Task
from envs.options import check_choice, parse_options
from envs.quoting import quotable
from envs.reasoning_gym import demonstrations, generators, grading, prompts, rewards, streams
from envs.reasoning_gym.answers import confirms, find_answer
from envs.reasoning_gym.options import ReasoningGymOptions
from envs.reasoning_gym.pools import read_pool
from envs.reasoning_gym.state import GymState, Reply, decode, encode
from envs.reasoning_gym.verdicts import verdict


def make_reasoning_gym(options: Mapping[str, JSON], reward: str) -> "ReasoningGym":
    """Build it from YAML options. ValueError names the option, the value and what is allowed, or
    the pool's file, line and field."""
    checked = parse_options(ReasoningGymOptions, "reasoning_gym", options)
    if checked.config:
        generators.check_config(checked.task, checked.config)
    if checked.pool is not None:
        config = streams.canonical(checked.config)
        read_pool(checked.pool, checked.pool_digest, checked.task, config)
    return ReasoningGym(checked, reward)


class ReasoningGym:
    """Answer a question of reasoning-gym's generators; a checker may confirm or correct it."""

    name = "reasoning_gym"
    version = "1"

    def __init__(self, options: ReasoningGymOptions, reward: str) -> None:
        self.options = options
        team, serial = options.roles == "team", options.order == "serial"
        self.roles = ("reasoner", "checker") if team else ("reasoner",)
        self.order = Order(options.order)
        self.reward_presets = rewards.presets(team, serial)
        check_choice("env.reward", reward, self.reward_presets)
        self.reward = reward
        self._config = streams.canonical(options.config)
        self._pays_partial = verdict(options.task).pays_partial

    def tasks(self, split: Split, seed: int, start: int, count: int) -> Sequence[Task]:
        """Tasks start .. start + count - 1 of the stream.

        Fewer where a pool's validation or test split ends; ValueError beyond.
        """
        return [
            Task(
                f"{self.name}/{self.options.task}/{split.value}/{seed}/{index}",
                split,
                seed,
                {
                    "task": self.options.task,
                    "config": dict(self.options.config),
                    "entry": json.loads(streams.draw(self.options, split, seed, index)),
                },
            )
            for index in streams.indices(self.options, split, start, count)
        ]

    def reset(self, task: Task) -> GymState:
        """The question alone. ValueError if the payload is of another generator or config."""
        for name in ("task", "config"):
            found, expected = task.payload.get(name), getattr(self.options, name)
            if found != expected:
                raise ValueError(
                    f"task {task.task_id} has the {name} {found!r}, expected {expected!r} as the "
                    "options say"
                )
        return GymState(json.dumps(task.payload["entry"], sort_keys=True))

    def observe(self, state: GymState, role: str) -> list[Message]:
        """A user message with all that the role may see; never the reference answer."""
        self._check_role(role)
        return prompts.observe(self.options, state, role)

    def step(self, state: GymState, role: str, completion: str) -> StepResult:
        """Grade one text. The role that acts last decides; before it nobody has answered.

        ValueError if the episode has ended or there is no such role; no text raises.
        """
        self._check_role(role)
        if state.status is not Status.RUNNING:
            raise ValueError(
                f"reasoning_gym: the episode is {state.status.value}, expected running"
            )
        if role == "checker":
            return self._check(state, completion)
        reply = Reply(role, find_answer(completion), self._quoted(completion))
        credit, answered = self._credit(state, reply.answer), reply.answer is not None
        if self.options.roles == "single":
            earned = rewards.single(self.reward, answered, credit, state.best)
            return self._end(state, (reply,), credit, earned)
        earned = rewards.proposal(self.reward, answered, credit, state.best)
        return StepResult(replace(state, proposal=reply), earned, Status.RUNNING)

    def encode_state(self, state: GymState) -> JSON:
        """As a JSON value."""
        return encode(state)

    def decode_state(self, encoded: JSON) -> GymState:
        """The inverse of `encode_state`."""
        return decode(encoded)

    def picture(self, state: GymState) -> str:
        """For people: the question and the answers so far."""
        return prompts.picture(state)

    def demonstrate(self, state: GymState, role: str, rng: Random) -> str:
        """An example answer, of the quality that the option `demonstrations` sets."""
        self._check_role(role)
        return demonstrations.demonstrate(self.options, self._config, state, role, rng)

    def _check(self, state: GymState, text: str) -> StepResult:
        """The checker confirms the reasoner's answer or gives its own: the team's answer."""
        given = state.proposal.answer if state.proposal else None
        seen = self._credit(state, given)
        serial = self.options.order == "serial"
        answer = given if serial and confirms(text) else find_answer(text)
        credit, answered = self._credit(state, answer), answer is not None
        if serial:
            earned = rewards.check(self.reward, answered, credit, state.best, seen)
            return self._end(state, (Reply("team", answer),), credit, earned, seen)
        earned = rewards.second(self.reward, answered, credit, state.best)
        wrong = () if seen == 1.0 else (Reply("reasoner", given),)
        return self._end(state, (*wrong, Reply("checker", answer)), credit, earned, seen)

    def _end(
        self,
        state: GymState,
        replies: tuple[Reply, ...],
        credit: float,
        earned: Rewards,
        seen: float = 0.0,
    ) -> StepResult:
        """Of the turn: the next one begins with what was answered, unless it was right."""
        status = Status.SOLVED if credit == 1.0 else Status.RUNNING
        partial = [value for value in (state.best, credit, seen) if value < 1.0]
        last = tuple(replace(reply, text="") for reply in replies)
        return StepResult(GymState(state.entry, None, last, max(partial), status), earned, status)

    def _credit(self, state: GymState, answer: str | None) -> float:
        """1 for a right answer; else its partial score, where that means anything."""
        found = grading.score(self.options.task, self._config, state.entry, answer)
        return found if found == 1.0 or self._pays_partial else 0.0

    def _quoted(self, text: str) -> str:
        return quotable(text) if self.options.roles == "team" else ""

    def _check_role(self, role: str) -> None:
        if role not in self.roles:
            raise ValueError(f"reasoning_gym: role is {role!r}; expected one of {list(self.roles)}")
