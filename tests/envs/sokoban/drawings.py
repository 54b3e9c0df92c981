"""Hand-made levels for the tests, and a plain player to judge the bit sets by."""

from envs.base import Split, Task
from envs.registry import make_environment
from envs.sokoban.levels import parse_rows

GOLDEN = """\
######
# @  #
# $  #
#    #
#  . #
######"""
TWO = """\
#######
#     #
#@$ $.#
#     #
#   . #
#     #
#######"""
AROUND = """\
########
#      #
#      #
#@ $#  #
#   #. #
#      #
########"""
LINE = """\
########
#      #
#@ $$ .#
#     .#
########"""
TINY = {
    "num_walls": 3,
    "min_pushes": 3,
    "action_language": "pushes",
    "tool": "search",
    "prompt_style": "compact",
}


def level(picture):
    """A drawing as a level."""
    return parse_rows(picture.split("\n"))


def make_env(reward="dense", **options):
    """Sokoban with these options."""
    return make_environment("sokoban", options, reward)


def make_task(picture):
    """A task from a drawing."""
    return Task("hand-made", Split.TEST, 0, {"rows": picture.split("\n")})


def begin(picture, reward="dense", **options):
    """Environment and first state for a drawing."""
    rows = picture.split("\n")
    size = {"height": len(rows), "width": max(map(len, rows)), "num_walls": 0}
    env = make_env(reward, **size, **options)
    return env, env.reset(make_task(picture))


def plain_walk(picture, moves):
    """Rows after these moves, and how many were possible before the first that was not."""
    grid = [list(row) for row in picture.split("\n")]
    steps = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
    for count, move in enumerate(moves):
        row, column = next((r, c) for r, line in enumerate(grid) for c, mark in enumerate(line)
                           if mark in "@+")  # fmt: skip
        down, right = steps[move]
        near, far = (row + down, column + right), (row + 2 * down, column + 2 * right)
        target = grid[near[0]][near[1]]
        if target == "#" or (target in "$*" and grid[far[0]][far[1]] in "#$*"):
            return ["".join(line) for line in grid], count
        if target in "$*":
            grid[far[0]][far[1]] = "*" if grid[far[0]][far[1]] == "." else "$"
        grid[near[0]][near[1]] = "+" if target in ".*" else "@"
        grid[row][column] = "." if grid[row][column] == "+" else " "
        if not any("$" in line for line in grid):
            return ["".join(line) for line in grid], count + 1
    return ["".join(line) for line in grid], len(moves)
