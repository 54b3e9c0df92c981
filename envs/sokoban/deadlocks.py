"""Boxes that never move again, because walls and each other hold them.

A box is held along an axis if a wall or another held box stands beside it there, or if both cells
beside it are ones from which no goal can be reached. Boxes held along both axes hold for ever: the
first of them to move would need a free side that none has. So a 2x2 block of boxes and walls is
held, and so are longer chains. Deadlocks of other kinds are not looked for.
"""

from envs.sokoban.board import CellSet


def frozen(width: int, walls: CellSet, dead: CellSet, boxes: CellSet) -> CellSet:
    """The boxes that no solution moves.

    `dead`: the cells (walls too) from which a box can get to no goal.
    """
    beside, above = dead << 1 & dead >> 1, dead << width & dead >> width
    held = boxes
    while True:
        solid = walls | held
        still = (
            held & (solid << 1 | solid >> 1 | beside) & (solid << width | solid >> width | above)
        )
        if still == held:
            return held
        held = still
