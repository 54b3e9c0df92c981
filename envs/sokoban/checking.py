"""Checks level files for `python -m envs.sokoban FILE`: one line for what is wrong or unknown.

While it works it says on standard error how far it is. The files themselves are never changed.
"""

import sys
import time

from envs.sokoban.level_sets import load
from envs.sokoban.levels import Found
from envs.sokoban.options import SokobanOptions

EVERY_S = 2.0
"""Seconds from one line about the progress to the next."""


class _Progress:
    """Counts levels, and tells of undecided ones at once."""

    def __init__(self) -> None:
        self.levels = self.undecided = 0
        self.told = time.monotonic()

    def __call__(self, found: Found, decided: bool) -> None:
        self.levels += 1
        if not decided:
            self.undecided += 1
            print(f"undecided: {found.where}", flush=True)
        if time.monotonic() - self.told > EVERY_S:
            self.told = time.monotonic()
            print(f"... {self.levels} levels, now at {found.where}", file=sys.stderr, flush=True)


def check(options: SokobanOptions) -> int:
    """0 if the files can be used as they are, 1 if only with `undecided: accept`, 2 if not."""
    progress = _Progress()
    try:
        found = load(options.model_copy(update={"undecided": "accept"}), progress)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    counts = ", ".join(f"{len(levels)} {split.value}" for split, levels in found.levels.items())
    size = f"at most {found.height}x{found.width}"
    if not progress.undecided:
        print(f"ok: {counts}; {size}")
        return 0
    print(
        f"{progress.undecided} of {progress.levels} levels undecided after {options.solver_limit} "
        f"positions or the time of as many: {counts}; {size}"
    )
    if options.undecided == "accept":
        return 0
    print("refused; give a larger --solver-limit, or --undecided accept", file=sys.stderr)
    return 1
