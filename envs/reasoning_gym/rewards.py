"""What an answer earns; README.md has the table.

Only a score of exactly 1 is right. A smaller score is partial credit, and pays only what exceeds
the best one of the turns before: whatever is repeated, or given up and taken again, earns once.
"""

from collections.abc import Mapping

from envs.base import Bounds, RewardPreset, Rewards

FORMAT, CHECK, PARTIAL = -0.2, 0.2, 0.5
_UNIT = Bounds(0.0, 1.0)
_FORMAT = {"format": Bounds(FORMAT, 0.0)}
_CHECK = {"check": Bounds(-CHECK, CHECK)}
Parts = Mapping[str, Mapping[str, Bounds]]


def presets(team: bool, serial: bool) -> dict[str, RewardPreset]:
    """The declared parts and bounds of `dense` and `outcome`."""
    match = {"match": _UNIT}
    dense: Parts = {"reasoner": _FORMAT}
    outcome: Parts = {"reasoner": {}}
    if team:
        judged = _CHECK if serial else match
        dense = {"reasoner": {**_FORMAT, **match}, "checker": {**_FORMAT, **judged}}
        outcome = {"reasoner": match, "checker": {} if serial else match}
    return {"dense": RewardPreset(_UNIT, dense), "outcome": RewardPreset(_UNIT, outcome)}


def value(preset: str, credit: float, best: float) -> float:
    """1 for a right answer; under `dense` else half of the credit that is new."""
    if credit == 1.0:
        return 1.0
    return 0.0 if preset == "outcome" else PARTIAL * max(0.0, credit - best)


def single(preset: str, answered: bool, credit: float, best: float) -> Rewards:
    """Of a reasoner without a checker."""
    return Rewards(value(preset, credit, best), _format(preset, answered))


def proposal(preset: str, answered: bool, credit: float, best: float) -> Rewards:
    """Of a reasoner whose answer is not the team's: the team's part is 0."""
    match = {"match": value(preset, credit, best)}
    return Rewards(0.0, {**_format(preset, answered), **match})


def check(preset: str, answered: bool, credit: float, best: float, seen: float) -> Rewards:
    """Of a checker that saw an answer with the credit `seen`."""
    judged = CHECK if credit == 1.0 else -CHECK if seen == 1.0 else 0.0
    local = {"check": judged} if preset == "dense" else {}
    return Rewards(value(preset, credit, best), {**_format(preset, answered), **local})


def second(preset: str, answered: bool, credit: float, best: float) -> Rewards:
    """Of a checker that answers at the same time: the team's answer is its own."""
    earned = value(preset, credit, best)
    return Rewards(earned, {**_format(preset, answered), "match": earned})


def _format(preset: str, answered: bool) -> dict[str, float]:
    return {"format": 0.0 if answered else FORMAT} if preset == "dense" else {}
