"""Python programs for the warm start of a tool that writes them."""

from collections.abc import Mapping

from envs.sokoban.walk import Language

SEARCH = """\
import sys
from collections import deque

rows = sys.stdin.read().splitlines()
cells = {(r, c): mark for r, row in enumerate(rows) for c, mark in enumerate(row)}
goals = {cell for cell, mark in cells.items() if mark in ".*+"}
boxes = frozenset(cell for cell, mark in cells.items() if mark in "$*")
player = next(cell for cell, mark in cells.items() if mark in "@+")
name = lambda cell: chr(97 + cell[1]) + str(cell[0] + 1)
steps = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
queue, seen = deque([(player, boxes, [])]), {(player, boxes)}
while queue:
    (r, c), boxes, moves = queue.popleft()
    if boxes == goals:
        print(moves)
        break
    for move, (down, right) in steps.items():
        near, far = (r + down, c + right), (r + 2 * down, c + 2 * right)
        after = boxes
        if near in boxes:
            if far in boxes or cells.get(far, "#") == "#":
                continue
            after = boxes - {near} | {far}
        if cells.get(near, "#") != "#" and (near, after) not in seen:
            seen.add((near, after))
            queue.append((near, after, moves + %s))
"""
_WRITTEN: Mapping[Language, str] = {
    "moves": "[move]",
    "cells": "[name(near)]",
    "pushes": '(["push", name(near), name(far)] if near in boxes else [])',
}
_FENCE = "```python\n{program}\n```"


def searching(language: Language) -> str:
    """A program that searches the fewest moves and prints them, in a fence."""
    return _FENCE.format(program=(SEARCH % _WRITTEN[language]).strip())


def printing(listed: str) -> str:
    """A program that prints what was worked out by hand."""
    return _FENCE.format(program=f"print({listed!r})")
