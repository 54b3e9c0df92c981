"""A digest that is the same for all puzzles which differ by naming and arrangement alone.

Renaming digits, transposing, and exchanging bands, stacks, rows within a band or columns within a
stack turn one puzzle into another that is solved in the same way. Splits made by this digest never
hold such twins. It refines colours of cells, lines, boxes and digits by their neighbours (as in
Weisfeiler and Leman's test); puzzles that it cannot tell apart end in one split, which is harmless.
"""

from envs.sudoku.board import BLANK, BOXES, size_of

ROUNDS = 2
_MASK = (1 << 64) - 1


def relabelled_digest(puzzle: str) -> str:
    """16 hex digits; equal for puzzles that are one up to relabelling."""
    size = size_of(puzzle)
    lines = _places(puzzle, size)
    cells = [1 if symbol == BLANK else 2 for symbol in puzzle]
    for _ in range(ROUNDS):
        cells = _refine(cells, *lines, size)
    return f"{_mix(sum(cells)):016x}"


def _places(puzzle: str, size: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """cell -> row, column, box and digit (0 for a blank)."""
    height, width = BOXES[size]
    rows = [cell // size for cell in range(size * size)]
    columns = [cell % size for cell in range(size * size)]
    boxes = [r // height * height + c // width for r, c in zip(rows, columns, strict=True)]
    digits = [0 if symbol == BLANK else int(symbol) for symbol in puzzle]
    return rows, columns, boxes, digits


def _refine(
    cells: list[int],
    rows: list[int],
    columns: list[int],
    boxes: list[int],
    digits: list[int],
    size: int,
) -> list[int]:
    height, width = BOXES[size]
    row = _lines(_sums(cells, rows, size), height)
    column = _lines(_sums(cells, columns, size), width)
    box = [_mix(value) for value in _sums(cells, boxes, size)]
    digit = [_mix(value) for value in _sums(cells, digits, size + 1)]
    # sums and products of row and column do not change when the two are exchanged
    return [
        _mix(3 * cell + row[r] * column[c] + 5 * (row[r] + column[c]) + 7 * box[b] + 11 * digit[d])
        for cell, r, c, b, d in zip(cells, rows, columns, boxes, digits, strict=True)
    ]


def _sums(cells: list[int], places: list[int], count: int) -> list[int]:
    sums = [0] * count
    for cell, place in zip(cells, places, strict=True):
        sums[place] += cell
    return sums


def _lines(sums: list[int], depth: int) -> list[int]:
    """Colours of rows or columns; `depth` of them lie in a band or stack."""
    colours = [_mix(value) for value in sums]
    bands = [_mix(17 * sum(colours[start : start + depth])) for start in range(0, len(sums), depth)]
    return [_mix(colour + 19 * bands[n // depth]) for n, colour in enumerate(colours)]


def _mix(value: int) -> int:
    """A 64-bit mixing function (the finaliser of splitmix64)."""
    value = ((value ^ value >> 30) & _MASK) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31
