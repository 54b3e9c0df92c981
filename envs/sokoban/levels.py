"""Levels as text: the XSB marks, and files with many levels as Boxoban and level collections use.

`#` wall, `@` player, `+` player on a goal, `$` box, `*` box on a goal, `.` goal; a space, `-` or
`_` is floor. Levels are separated by empty lines, comments (`;`) or other text. A line is a row of
a level if its first mark is a wall; after such a row also if its last mark is one, or if it has
nothing but marks. The last text before a level is its title. Rows may be of unequal length. Whether
a level can be solved is not looked at.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from envs.sokoban.board import Cell, CellSet, board, members, reach
from envs.sokoban.room import Level, Room

MAX_SIDE = 64
"""Rows and columns of the largest level that is read."""
_FLOOR = " -_"
_MARKS = frozenset("#@+$*. -_")
_NOTE = ";'\""
_BITS = tuple(
    {ord(mark): "1" if mark in marks else "0" for mark in _MARKS}
    for marks in ("#", ".*+", "$*", "@+")
)
"""For walls, goals, boxes and players: mark -> the bit of its cell."""


@dataclass(frozen=True, slots=True)
class Found:
    """A level as it stands in a file."""

    level: Level
    title: str
    where: str
    """`file, level n (line m)`, for messages."""


def to_rows(room: Room, boxes: CellSet, player: Cell, floor: str = " ") -> list[str]:
    """One string per row from the top."""
    marks, goals, width = list(_empty(room, floor)), room.goals, room.width
    for cell in members(boxes):
        marks[cell] = "*" if goals >> cell & 1 else "$"
    marks[player] = "+" if goals >> player & 1 else "@"
    text = "".join(marks)
    return [text[start : start + width] for start in range(0, len(text), width)]


@lru_cache(maxsize=8192)
def _empty(room: Room, floor: str) -> str:
    """The room without boxes and player, row after row."""
    size = room.height * room.width
    marks = list(f"{room.walls:0{size}b}"[::-1].replace("0", floor).replace("1", "#"))
    for cell in members(room.goals):
        marks[cell] = "."
    return "".join(marks)


class Source(NamedTuple):
    """Where a level comes from, for messages."""

    where: str = "level"
    line: int | None = None
    """Of the file, in which the first row stands; None where there is no file."""
    indent: int = 0
    """Columns that were cut."""

    def whole(self) -> str:
        """The level, for faults of all of it."""
        return self.where if self.line is None else f"{self.where} (line {self.line})"

    def row(self, row: int) -> str:
        """Row `row`, from 0."""
        line = "" if self.line is None else f" (line {self.line + row})"
        return f"{self.where}: row {row + 1}{line}"

    def cell(self, cell: Cell, width: int) -> str:
        """A cell by row and column."""
        row, column = divmod(cell, width)
        return f"{self.row(row)}, column {column + 1 + self.indent}"


_ANY = Source()


def parse_rows(rows: Sequence[str], where: str = "level", first_line: int | None = None) -> Level:
    """A level to be played. ValueError naming row, line and column, or what is wrong with the
    whole. A common indent is cut."""
    _check_rows(rows, Source(where, first_line))
    indent = min(len(row) - len(row.lstrip(_FLOOR)) for row in rows)
    source = Source(where, first_line, indent)
    level = parse_position([row[indent:] for row in rows], source)
    _check_boxes(level, source)
    return level


def parse_position(rows: Sequence[str], source: Source = _ANY) -> Level:
    """The inverse of `to_rows`, of any position. ValueError unless it has one player."""
    width = max(map(len, rows))
    text = "".join(row.ljust(width) for row in rows)
    walls, goals, boxes, players = (int(text.translate(bits)[::-1], 2) for bits in _BITS)
    if not players:
        raise ValueError(f"{source.whole()}: 0 players (`@` or `+`), expected 1")
    if players.bit_count() > 1:
        second = list(members(players))[1]
        raise ValueError(
            f"{source.cell(second, width)} is the second of {players.bit_count()} players (`@` or "
            "`+`), expected 1"
        )
    return Level(Room(len(rows), width, walls, goals), boxes, players.bit_length() - 1)


def _check_rows(rows: Sequence[str], source: Source) -> None:
    if len(rows) > MAX_SIDE:
        raise ValueError(f"{source.whole()}: {len(rows)} rows, expected {MAX_SIDE} or fewer")
    if not rows:
        raise ValueError(f"{source.whole()}: no rows")
    for number, row in enumerate(rows):
        if len(row) > MAX_SIDE or not _MARKS.issuperset(row) or not row.strip(_FLOOR):
            raise ValueError(f"{source.row(number)}{_row_fault(row)}")


def _row_fault(row: str) -> str:
    if len(row) > MAX_SIDE:
        return f" has {len(row)} columns, expected {MAX_SIDE} or fewer"
    column = next((n for n, mark in enumerate(row) if mark not in _MARKS), None)
    if column is None:
        return " has nothing but floor, expected walls at both ends"
    expected = "one of `#@+$*.` or a floor mark (space, `-`, `_`)"
    return f", column {column + 1} is {row[column]!r}, expected {expected}"


def _check_boxes(level: Level, source: Source) -> None:
    """Closed, as many boxes as goals, all that matters inside, and something to do."""
    room = level.room
    inside = region(level)
    gaps = inside & board(room.height, room.width).ring
    if gaps:
        gap = source.cell(next(members(gaps)), room.width)
        raise ValueError(f"{gap}: here the player can leave the room, expected walls all around")
    num_boxes, num_goals = level.boxes.bit_count(), room.goals.bit_count()
    if num_boxes != num_goals or not num_boxes:
        raise ValueError(
            f"{source.whole()}: {num_boxes} boxes and {num_goals} goals, expected equally many, "
            "1 or more"
        )
    outside = (level.boxes ^ room.goals) & ~inside
    if outside:
        place = source.cell(outside.bit_length() - 1, room.width)
        raise ValueError(
            f"{place} has a box or a goal that the player cannot get to, expected it inside the "
            "room"
        )
    if level.boxes == room.goals:
        raise ValueError(
            f"{source.whole()}: all boxes stand on goals already, expected something to do"
        )


def region(level: Level) -> CellSet:
    """Where the player could get if there were no boxes; may hold cells of the ring if open."""
    room = level.room
    return reach(room.width, room.board.full & ~room.walls, 1 << level.player)


def read_text(text: str, name: str) -> list[Found]:
    """All levels of a file's text, in order. ValueError names the file, the level and the row."""
    found = []
    for number, (line, title, rows) in enumerate(_blocks(text.splitlines()), 1):
        where = f"{name}, level {number}"
        found.append(Found(parse_rows(rows, where, line), title, f"{where} (line {line})"))
    if not found:
        raise ValueError(f"{name}: no level in it; expected rows of `#`, `@`, `$`, `.` and floor")
    return found


def write_text(levels: Iterable[tuple[Level, str]]) -> str:
    """(level, title) as a file's text, which `read_text` reads; floor at the row's end is cut."""
    blocks = []
    for level, title in levels:
        rows = [row.rstrip() for row in to_rows(level.room, level.boxes, level.player)]
        blocks.append("\n".join([f"; {' '.join(title.split())}".rstrip(), *rows]) + "\n")
    return "\n".join(blocks)


def _blocks(lines: Iterable[str]) -> Iterator[tuple[int, str, list[str]]]:
    """(line of the first row, title, rows) of every level."""
    title, rows, first = "", list[str](), 0
    for number, line in enumerate(lines, 1):
        if _is_row(line, bool(rows)):
            first = first if rows else number
            rows.append(line.rstrip())
            continue
        if rows:
            yield first, title, rows
            title, rows = "", []
        title = line.strip().strip(_NOTE).strip() or title
    if rows:
        yield first, title, rows


def _is_row(line: str, inside: bool) -> bool:
    """`inside`: the line before is a row."""
    marks = line.strip().strip(_FLOOR)
    if marks.startswith("#"):
        return True
    return inside and bool(marks) and (marks.endswith("#") or set(marks) <= _MARKS)
