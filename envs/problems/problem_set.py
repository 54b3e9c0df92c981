"""A checked problem set: its rows by split, and the streams that tasks are drawn from.

Whole or not at all: one bad row, or two rows with one content, and there is no set.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Generic

from envs.base import Split
from envs.problems.formats import serialise
from envs.problems.rows import RowT, parse_row
from envs.splits import permute


@dataclass(frozen=True)
class Problems(Generic[RowT]):
    """Rows in the file's order; every row has its split."""

    name: str
    """Where they came from, for messages."""
    sha256: str
    """Of the file's bytes."""
    by_split: Mapping[Split, tuple[RowT, ...]]
    by_key: Mapping[str, RowT] = field(repr=False)

    def rows(self, split: Split) -> tuple[RowT, ...]:
        """The rows of one split."""
        return self.by_split[split]

    def find(self, key: str) -> RowT:
        """The row with this key. ValueError if there is none."""
        if key not in self.by_key:
            raise ValueError(
                f"{self.name} (sha256 {self.sha256[:12]}...) has no problem {key!r}; expected the "
                "file that the task was drawn from"
            )
        return self.by_key[key]

    def draw(self, split: Split, seed: int, start: int, count: int) -> list[RowT]:
        """Rows start .. start + count - 1 of the stream (split, seed).

        Every n rows of a stream are a permutation of the split's n rows. The train stream goes on
        for ever, with a new permutation in each epoch; the others end after the first, where fewer
        than `count` rows may come. ValueError from the end on, or if the split is empty.
        """
        rows = self.rows(split)
        size, last = len(rows), start + count
        if not size or start < 0 or (split is not Split.TRAIN and start >= size):
            raise ValueError(
                f"{self.name} has {size} problems in the split {split.value}, got a request for "
                f"problem {start}; expected 0 or more, and less than {size} unless train"
            )
        last = last if split is Split.TRAIN else min(last, size)
        return [rows[_place(index, size, split, seed)] for index in range(start, last)]


def make_problems(
    numbered: Iterable[tuple[int, Any]], schema: type[RowT], name: str, digest: str
) -> Problems[RowT]:
    """Check all rows. ValueError names file, row and field, got and expected."""
    by_key: dict[str, RowT] = {}
    owners: dict[str, int] = {}
    for number, fields in numbered:
        row = parse_row(schema, fields, f"{name}, row {number}")
        key = row.key
        if key in owners:
            raise ValueError(_duplicate(name, number, row, owners[key], by_key[key]))
        by_key[key], owners[key] = row, number
    if not by_key:
        raise ValueError(f"{name}: no rows, expected 1 or more")
    by_split = {
        split: tuple(row for row in by_key.values() if row.split is split) for split in Split
    }
    return Problems(name, digest, by_split, by_key)


def problems_of(rows: Sequence[RowT], name: str) -> Problems[RowT]:
    """The same from rows in memory; the digest is that of the file `<name>.jsonl` they would be."""
    dumped = [dump(row) for row in rows]
    digest = sha256(serialise(f"{name}.jsonl", dumped)).hexdigest()
    schema = type(rows[0]) if rows else None
    if schema is None:
        raise ValueError(f"{name}: no rows, expected 1 or more")
    return make_problems(enumerate(dumped, 1), schema, name, digest)


def dump(row: RowT) -> dict[str, Any]:
    """The row as it is written."""
    return row.model_dump(mode="json", exclude_none=True)


def _place(index: int, size: int, split: Split, seed: int) -> int:
    epoch, position = divmod(index, size)
    return permute(position, size, f"problems/{split.value}/{seed}/{epoch}")


def _duplicate(name: str, number: int, row: RowT, first: int, other: RowT) -> str:
    splits = [str(item.split and item.split.value) for item in (other, row)]
    within = f"within {splits[0]}" if splits[0] == splits[1] else f"in {splits[0]} and {splits[1]}"
    return (
        f"{name}, row {number}, field content: the same problem as row {first} ({within}), "
        "expected every problem once"
    )
