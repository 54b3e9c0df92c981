"""What an answer earns; README.md has the table. A text that is no answer earns nothing at all.

builds: the program compiles. smoke: on the first three golden tests it ends without an error and
prints or returns something. valid: the golden solution does so on every one of the tester's tests.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from envs.base import Bounds, RewardPreset, Rewards

BUILDS, SMOKE, PROGRAM = 0.1, 0.1, 0.8
VALID, TESTS = 0.2, 0.8
NUM_SMOKE = 3
_UNIT = Bounds(0.0, 1.0)


@dataclass(frozen=True)
class ProgramVerdict:
    """What the coder's text came to."""

    builds: bool = False
    smoke: bool = False
    num_passed: int = 0
    num_golden: int = 1

    @property
    def rate(self) -> float:
        """Golden tests passed, as a share."""
        return self.num_passed / self.num_golden


@dataclass(frozen=True)
class TestsVerdict:
    """What the tester's text came to, by the golden solution."""

    __test__ = False  # not a test of ours

    valid: bool = False
    num_right: int = 0
    num_tests: int = 0

    @property
    def rate(self) -> float:
        """Tests that the golden solution passes, as a share."""
        return self.num_right / self.num_tests if self.num_tests else 0.0


def presets(roles: tuple[str, ...]) -> dict[str, RewardPreset]:
    """The declared parts and bounds of `dense` and `outcome` for these roles."""
    dense: dict[str, Mapping[str, Bounds]] = {
        "coder": {
            "builds": Bounds(0.0, BUILDS),
            "smoke": Bounds(0.0, SMOKE),
            "golden": Bounds(0.0, PROGRAM),
        }
    }
    outcome: dict[str, Mapping[str, Bounds]] = {"coder": {}}
    if "tester" in roles:
        dense["tester"] = {"valid": Bounds(0.0, VALID), "golden": Bounds(0.0, TESTS)}
        outcome["tester"] = {"right": _UNIT}
    return {"dense": RewardPreset(_UNIT, dense), "outcome": RewardPreset(_UNIT, outcome)}


def coder_rewards(preset: str, verdict: ProgramVerdict) -> Rewards:
    """team: the share of golden tests passed (outcome: whether all are)."""
    if preset == "outcome":
        return Rewards(float(verdict.num_passed == verdict.num_golden), {})
    parts = {
        "builds": BUILDS * verdict.builds,
        "smoke": SMOKE * verdict.smoke,
        "golden": PROGRAM * verdict.rate,
    }
    return Rewards(verdict.rate, parts)


def tester_rewards(preset: str, verdict: TestsVerdict, program: ProgramVerdict) -> Rewards:
    """team: the program's, shared, unless there are no tests."""
    shared = coder_rewards(preset, program).team if verdict.num_tests else 0.0
    if preset == "outcome":
        right = bool(verdict.num_tests) and verdict.num_right == verdict.num_tests
        return Rewards(shared, {"right": float(right)})
    return Rewards(shared, {"valid": VALID * verdict.valid, "golden": TESTS * verdict.rate})


def no_rewards(preset: RewardPreset, role: str) -> Rewards:
    """Where nothing could be judged: every part 0."""
    return Rewards(0.0, dict.fromkeys(preset.local.get(role, {}), 0.0))
