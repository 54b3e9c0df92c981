"""Runs in an environment of its own: times gym-sokoban's `step`, some steps for each line read.

A line is a mode of observation; the answer is steps per CPU second of that mode. gym-sokoban 0.0.6
needs gym 0.26, and that one NumPy 1. Only `step` is timed: making a level takes it longer.
"""

import random
import sys
import time

import numpy as np
from gym_sokoban.envs.sokoban_env import SokobanEnv

STEPS = {"rgb_array": 200, "tiny_rgb_array": 4_000}
MOVES = range(1, 5)
"""Up, down, left, right, with pushes."""


def main() -> None:
    """Answer until the input ends."""
    random.seed(0)
    np.random.seed(0)
    env = SokobanEnv(dim_room=(6, 6), max_steps=10**9, num_boxes=1)
    moves = random.Random(0)
    for line in sys.stdin:
        mode = line.strip()
        began = time.process_time()
        for _ in range(STEPS[mode]):
            env.step(moves.choice(MOVES), observation_mode=mode)
        print(STEPS[mode] / (time.process_time() - began), flush=True)


if __name__ == "__main__":
    main()
