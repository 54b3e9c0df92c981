"""Level files as three splits: read whole, checked, and refused whole.

Either every split has its own file or folder, or the digest of each level's rows decides. A level
that comes twice in one split is kept once; in two splits it is an error. Names of files in messages
are relative to what was asked for.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from envs import splits
from envs.base import Split
from envs.sokoban.levels import Found, read_text
from envs.sokoban.options import SokobanOptions
from envs.sokoban.room import Level, remaining
from envs.sokoban.solver import Undecided, solve
from envs.sokoban.state import rows_of

SUFFIXES = (".txt", ".xsb", ".sok")
MAX_MIB = 64
"""Of one file."""


class LevelSet(NamedTuple):
    """All levels of the three splits, in the order of the files."""

    levels: Mapping[Split, tuple[Level, ...]]
    height: int
    """Rows of the tallest level."""
    width: int
    """Columns of the widest."""


def load(options: SokobanOptions) -> LevelSet:
    """The checked levels.

    Raises ValueError, one line: the file, the level and its line, what is wrong and expected.
    """
    root = Path(options.levels or "")
    levels: dict[Split, dict[str, Level]] = {split: {} for split in Split}
    owners: dict[str, tuple[Split, str]] = {}
    for chosen, found in _all(root, options.level_splits):
        text = "\n".join(rows_of(found.level))
        split = chosen or splits.split_of(text)
        owner, where = owners.setdefault(text, (split, found.where))
        if owner is not split:
            raise ValueError(
                f"sokoban levels: {found.where}, of {split.value}, is the same level as {where}, "
                f"of {owner.value}; expected disjoint splits"
            )
        if text not in levels[split]:
            _check_solvable(options, found)
            levels[split][text] = found.level
    every = [level.room for held in levels.values() for level in held.values()]
    return LevelSet(
        {split: tuple(held.values()) for split, held in levels.items()},
        max(room.height for room in every),
        max(room.width for room in every),
    )


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
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        if not files:
            raise ValueError(
                f"sokoban levels: no level file in {path}; expected names that end in "
                f"{', '.join(SUFFIXES)}"
            )
    else:
        files = [path]
    for file in files:
        name = str(file.relative_to(root)) if file != root else file.name
        yield from read_text(_text(file), f"sokoban levels: {name}")


def _text(file: Path) -> str:
    try:
        size = file.stat().st_size
        if size > MAX_MIB << 20:
            raise ValueError(
                f"sokoban levels: {file} has {size >> 20} MiB, expected {MAX_MIB} or less: split it"
            )
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(
            f"sokoban levels: {file} cannot be read ({reason}); expected a file or a folder"
        ) from error


def _check_solvable(options: SokobanOptions, found: Found) -> None:
    """ValueError if it is known that the level has no solution."""
    level = found.level
    if remaining(level.room, level.boxes) < 0:
        raise ValueError(
            f"{found.where}: not solvable: a box cannot be pushed to any goal that is left for it"
        )
    if options.verify == "rules":
        return
    try:
        solution = solve.__wrapped__(level, "pushes", options.solver_limit)
    except Undecided:
        return
    if solution is None:
        raise ValueError(f"{found.where}: not solvable: the solver has tried all pushes")


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
