"""A tracer that behaves otherwise in any process but the one that `home` names."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from envs.base import JSON, State, StepResult
from tests.doubles.environments import Tracer


@dataclass(frozen=True)
class Moody(Tracer):
    """Elsewhere `die` ends the process and `complain` raises; `print` prints everywhere."""

    home: int = 0

    def step(self, state: State, role: str, completion: str) -> StepResult:
        elsewhere = os.getpid() != self.home
        if completion == "print":
            print("chatter")
        if completion == "die" and elsewhere:
            os._exit(9)
        if completion == "complain" and elsewhere:
            raise RuntimeError("not at home")
        return super().step(state, role, completion)


def make_moody(options: Mapping[str, JSON], reward: str) -> Moody:
    """Option `home`: a process id."""
    return Moody(home=options["home"], reward=reward)
