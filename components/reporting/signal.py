"""How much signal an iteration's groups had, by role and turn: read from the group certificate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.manifests import StepManifest, read_output
from components.reporting.unread import of, or_left_out
from components.storage import Store


@dataclass(frozen=True)
class Signal:
    """The groups of one role in one turn."""

    role: str
    turn: int
    num_groups: int
    num_samples: int
    zero_variance: float
    """Share of groups whose rewards are all equal, in [0, 1]."""
    reward_std: float
    """Mean over the groups."""
    smallest: int
    largest: int
    """Samples in the smallest and in the largest group."""


def signals(store: Store, found: Sequence[tuple[str, StepManifest]]) -> list[Signal]:
    """Of an iteration's steps; empty before grouping, or without a certificate; also if it cannot
    be read, with a warning."""
    certified = [
        item for item in found if item[1].step == "group" and "certificate" in item[1].outputs
    ]
    if not certified:
        return []
    key, step = certified[-1]
    content = or_left_out(
        "group statistics", of(step), lambda: read_output(store, key, "certificate")
    )
    return [] if content is None else by_role_and_turn(json.loads(content))


def by_role_and_turn(certificate: Mapping[str, Any]) -> list[Signal]:
    """One entry per role and turn, by turn, then in order of first appearance."""
    groups = certificate["groups"]
    places: dict[tuple[int, str], list[int]] = {}
    for place, key in enumerate(zip(groups["turn"], groups["role"], strict=True)):
        places.setdefault(key, []).append(place)
    ordered = sorted(places.items(), key=lambda item: item[0][0])
    return [_signal(turn, role, groups, own) for (turn, role), own in ordered]


def _signal(turn: int, role: str, groups: Mapping[str, Sequence[Any]], own: list[int]) -> Signal:
    sizes = [groups["size"][place] for place in own]
    return Signal(
        role, turn, len(own), sum(sizes),
        sum(groups["zero_variance"][place] for place in own) / len(own),
        sum(groups["reward_std"][place] for place in own) / len(own),
        min(sizes), max(sizes),
    )  # fmt: skip
