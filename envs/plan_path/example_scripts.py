"""Programs that the tool could have written: right ones, ones that forget walls, broken ones."""

from random import Random

from envs.plan_path.options import PlanPathOptions
from envs.plan_path.state import PlanPathState

_BREADTH_FIRST = """\
from collections import deque
{load}
moves = {{"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}}
came, queue = {{start: None}}, deque([start])
while queue:
    at = queue.popleft()
    for move, (down, right) in moves.items():
        near = at[0] + down, at[1] + right
        inside = 0 <= near[0] < len(rows) and 0 <= near[1] < len(rows[0])
        if inside and rows[near[0]][near[1]] == "." and near not in came:
            came[near] = at, move
            queue.append(near)
path = []
while goal != start:
    cell = chr(97 + goal[1]) + str(goal[0] + 1)
    goal, move = came[goal]
    path.insert(0, {action})
print(path)
"""
_OWN_GRID = """
rows = '''
{rows}
'''.split()
start, goal = {start}, {goal}"""
_GIVEN_GRID = """import sys

*rows, first, last = sys.stdin.read().splitlines()
start, goal = (tuple(map(int, line.split())) for line in (first, last))"""
_NO_WALLS = """
rows = [row.replace("#", ".") for row in rows]"""
_BROKEN = ("print(path)\n", "path = ['U']\n", "print('no way')\n")


def search_script(options: PlanPathOptions, state: PlanPathState, *, blind: bool = False) -> str:
    """A breadth-first search that prints a shortest path; a blind one forgets the walls."""
    width = state.grid.width
    load = _GIVEN_GRID
    if options.program_input == "none":
        start, goal = divmod(state.position, width), divmod(state.goal, width)
        load = _OWN_GRID.format(rows="\n".join(state.grid.rows()), start=start, goal=goal)
    action = "move" if options.action_language == "moves" else "cell"
    return _BREADTH_FIRST.format(load=load + _NO_WALLS * blind, action=action)


def fenced(script: str) -> str:
    """As a role writes it."""
    return f"```python\n{script}```"


def draw_script(options: PlanPathOptions, state: PlanPathState, rng: Random) -> str:
    """A program in a fence, of a kind drawn by the shares of `demonstrations`."""
    shares, kind = options.demonstrations, rng.random()
    if kind >= shares.right_programs + shares.blind_programs:
        return fenced(rng.choice(_BROKEN))
    return fenced(search_script(options, state, blind=kind >= shares.right_programs))
