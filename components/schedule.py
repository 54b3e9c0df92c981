"""Which environment the n-th task of a run comes from: exact shares in every prefix, no chance.

A state needs no cursor but the number of tasks played: where each environment's stream stands
follows from it.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm


def slots(shares: Mapping[str, Fraction]) -> Iterator[str]:
    """The environments' names, task by task, without end.

    After n tasks every environment with share w has had floor(n w) or ceil(n w) of them. Of those
    that would not be ahead of their share, the one whose next task is due first takes the slot
    (R. Tijdeman, "The chairman assignment problem", Discrete Mathematics 32, 1980); of equally
    due ones the first in the mapping. `shares` sum to 1.
    """
    whole = lcm(*(share.denominator for share in shares.values()))
    parts = {name: int(share * whole) for name, share in shares.items()}
    if not parts or sum(parts.values()) != whole or min(parts.values()) < 1:
        raise ValueError(f"shares {dict(shares)}: expected positive ones that sum to 1")
    played = dict.fromkeys(parts, 0)
    number = 0
    while True:
        number += 1
        eligible = [name for name, part in parts.items() if played[name] * whole < number * part]
        chosen = min(eligible, key=lambda name: -(-(played[name] + 1) * whole // parts[name]))
        played[chosen] += 1
        yield chosen


def spans(shares: Mapping[str, Fraction], start: int, count: int) -> dict[str, range]:
    """Which tasks of each environment's own stream are tasks start .. start + count - 1 of the
    run's: `range(first, after_the_last)`, empty where it has none."""
    if len(shares) == 1:
        return {name: range(start, start + count) for name in shares}
    whole = lcm(*(share.denominator for share in shares.values()))
    rounds = start // whole
    before = {name: int(share * whole) * rounds for name, share in shares.items()}
    after = dict(before)
    order = slots(shares)
    for number in range(rounds * whole, start + count):
        name = next(order)
        after[name] += 1
        if number < start:
            before[name] += 1
    return {name: range(before[name], after[name]) for name in shares}
