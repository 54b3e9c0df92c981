"""Rows of cells as aligned lines of text, for every table that a terminal shows."""

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] | None = None) -> list[str]:
    """A line per row, two blanks between columns, none at the end; all rows equally long.

    Args:
        left: columns that are aligned to the left, others to the right; -1: the last. None: all.
    """
    if not rows:
        return []
    num, widths = len(rows[0]), [max(map(len, column)) for column in zip(*rows, strict=True)]
    to_left = [left is None or at in left or at - num in left for at in range(num)]
    return [
        "  ".join(
            cell.ljust(width) if first else cell.rjust(width)
            for cell, width, first in zip(row, widths, to_left, strict=True)
        ).rstrip()
        for row in rows
    ]
