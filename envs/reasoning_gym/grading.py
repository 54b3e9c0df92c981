"""The package's own grader on one answer, made safe: it neither raises nor runs text.

Only a score of exactly 1 is a right answer; the small ones that many graders give to any text
are none at all.
"""

import math
import warnings
from functools import lru_cache

from envs.reasoning_gym import entries
from envs.reasoning_gym.generators import Entry, grader
from envs.reasoning_gym.inert import inert

FLOOR = 0.05
"""Scores up to this are counted as 0: what graders give for having written something."""


def score(task: str, config: str, entry: str, answer: str | None) -> float:
    """0, or in (FLOOR, 1]; 0 for no answer, and where the grader raises or leaves [0, 1].

    `config` and `entry` are canonical JSON. The entry is read anew, since graders change it.
    """
    if answer is None or not inert(task, answer):
        return 0.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = float(grader(task, config).score_answer(answer, entries.load(entry)))
    except Exception:  # of malformed answers, whatever the package raises
        return 0.0
    return found if math.isfinite(found) and FLOOR < found <= 1.0 else 0.0


@lru_cache(maxsize=1024)
def read(entry: str) -> Entry:
    """The entry of a state, for its question and reference answer; never changed."""
    loaded: Entry = entries.load(entry)
    return loaded
