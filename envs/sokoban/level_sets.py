"""Level files as three splits: read whole, checked, and refused whole.

Either every split has its own file or folder, or the digest of each level decides. A level that
comes twice is an error, in one split as in two. Names of files in messages are relative to what was
asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from envs import reading, splits
from envs.base import Split
from envs.sokoban.levels import Found, read_text
from envs.sokoban.options import SokobanOptions
from envs.sokoban.room import Level, remaining
from envs.sokoban.solver import Undecided, solvable
from envs.sokoban.state import rows_of
from envs.sokoban.symmetry import name, trimmed

SUFFIXES = (".txt", ".xsb", ".sok")
"""In small or capital letters."""
MAX_MIB = 64
"""Of one file."""
Report = Callable[[Found, bool], None]
"""Told of every checked level, and whether it is known to be solvable."""


class LevelSet(NamedTuple):
    """All levels of the three splits, in the order of the files."""

    levels: Mapping[Split, tuple[Level, ...]]
    height: int
    """Rows of the tallest level."""
    width: int
    """Columns of the widest."""


def load(options: SokobanOptions, report: Report = lambda found, decided: None) -> LevelSet:
    """The checked levels.

    Raises ValueError, one line: the file, the level and its line, what is wrong and expected.
    """
    root = Path(options.levels or "")
    levels: dict[Split, list[Level]] = {split: [] for split in Split}
    known = _Known(options)
    for chosen, found in _all(root, options.level_splits):
        split = known.add(chosen, found)
        report(found, _is_decided(options, found))
        levels[split].append(found.level)
    every = [level.room for held in levels.values() for level in held]
    return LevelSet(
        {split: tuple(held) for split, held in levels.items()},
        max(room.height for room in every),
        max(room.width for room in every),
    )


class _Known:
    """Which levels there are already, and where."""

    def __init__(self, options: SokobanOptions) -> None:
        self.distinct = options.distinct
        self.owners: dict[str, tuple[Split, str]] = {}
        self.places: dict[str, str] = {}

    def add(self, chosen: Split | None, found: Found) -> Split:
        """The level's split. ValueError if it is there already, or its twin in another split."""
        identity = self.distinct == "identity"
        text = "\n".join(rows_of(found.level) if identity else trimmed(found.level))
        content = name(found.level, self.distinct)
        split = chosen or splits.split_of(content)
        owner, where = self.owners.setdefault(content, (split, found.where))
        if owner is not split:
            how = "" if identity else ", perhaps turned or mirrored (see the option distinct)"
            raise ValueError(
                f"sokoban levels: {found.where}, of {split.value}, is the same level as {where}, "
                f"of {owner.value}{how}; expected disjoint splits"
            )
        if text in self.places:
            raise ValueError(
                f"sokoban levels: {found.where} is the same level as {self.places[text]}; expected "
                "each level once"
            )
        self.places[text] = found.where
        return split


def _all(root: Path, names: Mapping[Split, str] | None) -> Iterator[tuple[Split | None, Found]]:
    """(split, or None where the digest decides; level)."""
    if names is None:
        for found in _levels_at(root, root):
            yield None, found
        return
    for split in Split:
        for found in _levels_at(root / names[split], root):
            yield split, found


def _levels_at(path: Path, root: Path) -> Iterator[Found]:
    """Of a file, or of all level files below a folder, by name."""
    if path.is_dir():
        files = sorted(
            file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()
        )
        if not files:
            raise ValueError(
                f"sokoban levels: no level file in {path}; expected names that end in "
                f"{', '.join(SUFFIXES)}"
            )
    else:
        files = [path]
    for file in files:
        short = str(file.relative_to(root)) if file != root else file.name
        text = reading.read_text(file, "sokoban levels", MAX_MIB << 20)
        try:
            levels = read_text(text, short)
        except ValueError as error:
            raise ValueError(f"sokoban levels: {error}") from error
        yield from levels


def _is_decided(options: SokobanOptions, found: Found) -> bool:
    """Whether it is known that the level has a solution. ValueError if it is known that it has
    none, or if nothing is known and the options refuse that."""
    level, where = found.level, f"sokoban levels: {found.where}"
    if remaining(level.room, level.boxes) < 0:
        raise ValueError(
            f"{where}: not solvable: a box can never get to a goal that is left for it (in a "
            "corner, along a wall, or held by walls and boxes)"
        )
    if options.verify == "rules":
        return False
    try:
        if solvable(level, options.solver_limit):
            return True
    except Undecided as error:
        if options.undecided == "accept":
            return False
        raise ValueError(
            f"{where}: undecided: {error}; expected a level that the solver can decide, a "
            "larger solver_limit, or undecided: accept"
        ) from error
    raise ValueError(f"{where}: not solvable: the solver has tried all pushes")


def draw(levels: LevelSet, split: Split, seed: int, index: int) -> Level:
    """Level `index` of the stream: a seed decides the order.

    Training goes round and round, each time in another order; the other streams end.
    """
    held = levels.levels[split]
    lap, position = divmod(index, len(held))
    return held[splits.permute(position, len(held), f"sokoban/{seed}/{lap}")]


def last(levels: LevelSet, split: Split, start: int, stop: int) -> int:
    """Where a slice of the stream ends. ValueError if there is nothing in it."""
    size = len(levels.levels[split])
    if start < 0 or not size or (split is not Split.TRAIN and start >= size and start < stop):
        raise ValueError(
            f"sokoban task {start} of {split.value}: the level files hold {size} levels of this "
            "split, numbered from 0; expected one of them"
        )
    return stop if split is Split.TRAIN else min(stop, size)
