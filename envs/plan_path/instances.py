"""The streams of instances: any index alone, no instance twice, splits that cannot overlap.

All grids with the right number of walls and all pairs of start and goal are numbered. A seed
permutes these numbers (a Feistel network), and index i of a stream owns the numbers at positions
i * DRAWS .. (i + 1) * DRAWS - 1 of the permutation: the first whose instance is allowed is task i.
So no instance comes twice in a stream. Which split an instance belongs to is decided by the
digest of its content, so no stream of another split can hold it, whatever its seed.

Where the options leave few numbers, an index owns no range: a stream is then all allowed
instances in the permuted order, and task i costs the search for those before it (once per process).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb

from envs import splits
from envs.base import JSON, Split
from envs.plan_path.grid import Cell, Grid, distances, manhattan, members, parse_rows
from envs.plan_path.options import PlanPathOptions

DRAWS = 8192
"""Numbers that one index may try. At one allowed instance in 500 a failure has odds of 1e-7."""
SMALL = 4096 * DRAWS
"""Below this many numbers a stream is walked from its beginning."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One problem."""

    grid: Grid
    start: Cell
    goal: Cell

    def payload(self) -> JSON:
        """As JSON: rows, and start and goal as [row, column] counted from 0 at the top left."""
        start, goal = divmod(self.start, self.grid.width), divmod(self.goal, self.grid.width)
        return {"rows": self.grid.rows(), "start": list(start), "goal": list(goal)}


def parse_payload(payload: JSON) -> Instance:
    """The inverse of `Instance.payload`.

    Raises ValueError if start or goal is a wall or outside, if they are one cell, or if no path
    joins them.
    """
    grid = parse_rows(payload["rows"])
    start, goal = (_cell(grid, name, payload[name]) for name in ("start", "goal"))
    if start == goal:
        raise ValueError(f"start and goal are both {payload['goal']}, expected two cells")
    if distances(grid, goal).steps[start] < 0:
        raise ValueError(f"no path leads from {payload['start']} to {payload['goal']}")
    return Instance(grid, start, goal)


def draw(options: PlanPathOptions, split: Split, seed: int, index: int) -> Instance:
    """Instance `index` of the stream (split, seed).

    Raises ValueError if the stream is shorter than that or the options leave no instance.
    """
    if index < 0:
        raise ValueError(f"plan_path task {index} of {split.value}: expected 0 or more")
    if num_candidates(options) < SMALL:
        return _draw_small(options, split, seed, index)
    positions = range(index * DRAWS, (index + 1) * DRAWS)
    detour = _wants_detour(options.detour_fraction, index)
    found = next(_matching(options, split, seed, positions, lambda: detour), None)
    if found is None:
        raise ValueError(
            f"plan_path task {index} of {split.value}: none of {DRAWS} grids has min_distance "
            f"{options.min_distance} and detour {detour}; expected less of it, or fewer walls"
        )
    return found


def _draw_small(options: PlanPathOptions, split: Split, seed: int, index: int) -> Instance:
    found, stream = _small_stream(options, split, seed)
    while len(found) <= index:
        instance = next(stream, None)
        if instance is None:
            raise splits.StreamEnds(
                f"plan_path task {index} of {split.value}: the options leave {len(found)} "
                "instances; expected fewer tasks, a smaller min_distance or a larger grid"
            )
        found.append(instance)
    return found[index]


@lru_cache(maxsize=64)
def _small_stream(
    options: PlanPathOptions, split: Split, seed: int
) -> tuple[list[Instance], Iterator[Instance]]:
    """The instances found so far, and where the next ones come from."""
    found: list[Instance] = []
    positions = range(num_candidates(options))
    return found, _matching(
        options, split, seed, positions, lambda: _wants_detour(options.detour_fraction, len(found))
    )


def _matching(
    options: PlanPathOptions,
    split: Split,
    seed: int,
    positions: range,
    detour: Callable[[], bool | None],
) -> Iterator[Instance]:
    """Allowed instances at these positions of the seed's permutation, in order.

    Ends early after 2 * DRAWS misses in a row: the options then leave next to nothing.
    """
    size, misses = num_candidates(options), 0
    for position in positions:
        instance = numbered(options, splits.permute(position, size, f"plan_path/{seed}"))
        if _allowed(options, instance, split, detour()):
            misses = 0
            yield instance
        misses += 1
        if misses > 2 * DRAWS:
            return


def split_of(instance: Instance) -> Split:
    """The only split that may hold the instance."""
    return splits.split_of(f"{instance.grid.rows()}/{instance.start}/{instance.goal}")


def num_candidates(options: PlanPathOptions) -> int:
    """How many grids with a start and a goal there are, allowed or not."""
    size = options.height * options.width
    free = size - options.walls
    return comb(size, options.walls) * free * (free - 1)


def numbered(options: PlanPathOptions, number: int) -> Instance:
    """The instance that has this number, 0 .. num_candidates - 1."""
    size = options.height * options.width
    free = size - options.walls
    number, goal = divmod(number, free - 1)
    number, start = divmod(number, free)
    grid = Grid(options.height, options.width, _subset(size, options.walls, number))
    cells = list(members(grid.board.full & ~grid.walls))
    return Instance(grid, cells[start], cells[goal + (goal >= start)])


@lru_cache(maxsize=64)
def _binomials(size: int, chosen: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(comb(n, k) for k in range(chosen + 1)) for n in range(size + 1))


def _subset(size: int, chosen: int, rank: int) -> int:
    """The subset of `size` cells with `chosen` members that has this rank (combinadic order)."""
    table = _binomials(size, chosen)
    subset = 0
    for cell in range(size - 1, -1, -1):
        if not chosen:
            break
        without = table[cell][chosen]
        if rank >= without:
            rank -= without
            chosen -= 1
            subset |= 1 << cell
    return subset


def _wants_detour(fraction: float | None, index: int) -> bool | None:
    """Spreads the detours evenly: of every n indices, fraction * n want one."""
    if fraction is None:
        return None
    return int((index + 1) * fraction + 1e-9) > int(index * fraction + 1e-9)


def _allowed(
    options: PlanPathOptions, instance: Instance, split: Split, detour: bool | None
) -> bool:
    direct = manhattan(options.width, instance.start, instance.goal)
    if (detour is False and direct < options.min_distance) or split_of(instance) is not split:
        return False
    steps = distances.__wrapped__(instance.grid, instance.goal).steps[instance.start]
    return steps >= options.min_distance and (detour is None or detour == (steps > direct))


def _cell(grid: Grid, name: str, place: list[int]) -> Cell:
    row, column = place
    if not (0 <= row < grid.height and 0 <= column < grid.width):
        raise ValueError(f"{name} {place} is outside the {grid.height}x{grid.width} grid")
    cell = row * grid.width + column
    if grid.walls >> cell & 1:
        raise ValueError(f"{name} {place} is a wall, expected a free cell")
    return cell
