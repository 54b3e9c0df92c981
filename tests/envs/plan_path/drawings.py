"""Hand-made instances for the tests."""

from collections import deque

from envs.base import Split, Task
from envs.registry import make_environment

QUICKSTART = {
    "height": 6,
    "width": 6,
    "num_walls": 10,
    "min_distance": 5,
    "detour_fraction": 0.5,
    "action_language": "cells",
    "tool": "search",
    "prompt_style": "compact",
}
GOLDEN = """\
..........
....###...
....#.#...
....#.....
...#..##..
...###....
##.##..#.#
.....#.#.#
..#....#..
..#..#.#.#"""


def make_task(picture, start, goal):
    """A task from a drawing; start and goal are (row, column)."""
    payload = {"rows": picture.split("\n"), "start": list(start), "goal": list(goal)}
    return Task("hand-made", Split.TEST, 0, payload)


def make_env(reward="dense", **options):
    """Plan-Path with these options."""
    return make_environment("plan_path", options, reward)


def begin(picture, start, goal, reward="dense", **options):
    """Environment and first state for a drawing."""
    rows = picture.split("\n")
    size = {"height": len(rows), "width": len(rows[0]), "num_walls": 0}
    env = make_env(reward, **size, **options)
    return env, env.reset(make_task(picture, start, goal))


def plain_distance(rows, start, goal):
    """A textbook search over rows, to judge the bit sets by."""
    queue, seen = deque([(tuple(start), 0)]), {tuple(start)}
    while queue:
        (row, column), steps = queue.popleft()
        if [row, column] == goal:
            return steps
        for cell in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            inside = 0 <= cell[0] < len(rows) and 0 <= cell[1] < len(rows[0])
            if inside and cell not in seen and rows[cell[0]][cell[1]] == ".":
                seen.add(cell)
                queue.append((cell, steps + 1))
    return None
