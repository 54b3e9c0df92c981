"""Problem sets that are files: checked row by row, split by content, drawn by a cursor.

    problems = load_problems("s3://bucket/apps.jsonl", MyRow, sha256="...")
    problems.rows(Split.TRAIN); problems.draw(Split.TRAIN, seed=0, start=0, count=128)

An environment gives the schema, a subclass of `ProblemRow`. README.md has the file's rules.
"""

from envs.problems.loading import load_problems, write_problems
from envs.problems.problem_set import Problems, make_problems
from envs.problems.rows import LIMITS, Limits, ProblemRow

__all__ = [
    "LIMITS",
    "Limits",
    "ProblemRow",
    "Problems",
    "load_problems",
    "make_problems",
    "write_problems",
]
