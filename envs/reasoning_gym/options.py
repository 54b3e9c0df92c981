"""What of the adapter can be configured."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from envs.base import JSON
from envs.options import Options
from envs.reasoning_gym import verdicts

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class DemonstrationOptions(Options):
    """How good the example answers are; poor by default, so that there is something to learn."""

    right: Share = 0.3
    """Answers of a reasoner that are the reference answer; the rest are a damaged one."""
    judged: Share = 0.5
    """Checks that confirm a right answer or correct a wrong one; the rest confirm what they see."""


class ReasoningGymOptions(Options):
    """Options of `reasoning_gym`."""

    task: str = "chain_sum"
    """A generator of the package; those whose graders fail the audit are refused by name."""
    config: dict[str, JSON] = {}
    """The generator's own options, such as {max_digits: 3}, except `seed` and `size`."""
    roles: Literal["single", "team"] = "single"
    """single: a reasoner. team: a reasoner and a checker."""
    order: Literal["serial", "parallel"] = "serial"
    """Of a team. serial: the checker sees the reasoner's answer. parallel: both answer alone, and
    see each other's answers in the next turn."""
    pool: str | None = None
    """A file that `python -m envs.reasoning_gym.prepare` wrote; None: tasks are generated."""
    pool_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """SHA-256 that the pool must have; None: any."""
    prompt_style: Literal["paper"] = "paper"
    """For instruct models; the questions are free text, so there is no style of closed words."""
    demonstrations: DemonstrationOptions = DemonstrationOptions()

    @field_validator("task")
    @classmethod
    def _may_be_used(cls, task: str) -> str:
        verdicts.check(task)
        return task

    @model_validator(mode="after")
    def _order_has_a_team(self) -> "ReasoningGymOptions":
        if self.order == "parallel" and self.roles == "single":
            raise ValueError("order parallel needs roles team, got single")
        return self

    @model_validator(mode="after")
    def _pool_is_there(self) -> "ReasoningGymOptions":
        if self.pool is None and self.pool_digest is not None:
            raise ValueError("pool_digest needs pool, got none")
        if self.pool is None and verdicts.verdict(self.task).needs_pool:
            raise ValueError(
                f"task {self.task!r} makes other entries in every process; expected a pool: "
                f"python -m envs.reasoning_gym.prepare {self.task} --count 1000 --output FILE"
            )
        return self
