"""Splits that cannot overlap, and streams that can be entered anywhere.

The digest of an instance's content decides the one split that may hold it, whatever the seed; a
seeded permutation of numbered instances gives streams without repetition, which may end.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import TypeVar

from envs.base import Split

T = TypeVar("T")
SHARES = {Split.TRAIN: range(8), Split.VALIDATION: range(8, 9), Split.TEST: range(9, 10)}
"""Tenths of all instances by their digest."""


class StreamEnds(ValueError):
    """A stream has no task of this index, nor of a later one; the text says how many there are."""


def drawn(draw: Callable[[int], T], start: int, count: int) -> list[T]:
    """`draw` of start .. start + count - 1: fewer across the stream's end, StreamEnds behind it."""
    found: list[T] = []
    try:
        for index in range(start, start + count):
            found.append(draw(index))
    except StreamEnds:
        if not found:
            raise
    return found


def split_of(content: str) -> Split:
    """The only split that may hold an instance with this canonical text."""
    tenth = int.from_bytes(blake2b(content.encode(), digest_size=8).digest()) % 10
    return next(split for split, tenths in SHARES.items() if tenth in tenths)


def permute(position: int, size: int, key: str) -> int:
    """A permutation of 0 .. size - 1: four Feistel rounds, walked until the value is in range."""
    half = max(1, (size - 1).bit_length() + 1 >> 1)
    mask = (1 << half) - 1
    value = position
    while True:
        left, right = value >> half, value & mask
        for turn in range(4):
            left, right = right, left ^ _mix(f"{key}/{turn}/{right}") & mask
        value = left << half | right
        if value < size:
            return value


def permuted(size: int, key: str) -> Iterator[int]:
    """`permute` of 0, 1, 2, ... size - 1, for long walks: every round is tabulated once.

    Takes memory for about 8 times the root of `size` numbers.
    """
    half = max(1, (size - 1).bit_length() + 1 >> 1)
    mask = (1 << half) - 1
    a, b, c, d = (
        [_mix(f"{key}/{turn}/{right}") & mask for right in range(mask + 1)] for turn in range(4)
    )
    for position in range(size):
        value = position
        while True:
            left, right = value >> half, value & mask
            left ^= a[right]
            right ^= b[left]
            left ^= c[right]
            right ^= d[left]
            value = left << half | right
            if value < size:
                break
        yield value


def _mix(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=64).digest())
