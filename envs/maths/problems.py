"""Where problems come from: made here, inside an installed package, or a file."""

from collections.abc import Sequence
from functools import lru_cache

from envs.base import Split, Task
from envs.maths.generated import KINDS, draw
from envs.maths.options import MathsOptions
from envs.maths.packaged import SETS, load_package
from envs.maths.rows import MathsRow
from envs.problems import Problems, load_problems


def check_source(options: MathsOptions) -> None:
    """ValueError if `problems` names nothing that can be read; a file is read whole."""
    kind, _, name = options.problems.partition(":")
    if kind == "generated":
        if name not in KINDS:
            raise ValueError(f"maths option problems: {name!r} is not made here; {_KNOWN}")
        return
    problem_set(options)


def draw_tasks(
    options: MathsOptions, split: Split, seed: int, start: int, count: int
) -> list[Task]:
    """Tasks of the stream (split, seed). ValueError beyond a finite set's end."""
    kind, _, name = options.problems.partition(":")
    rows: Sequence[MathsRow]
    if kind == "generated":
        if start < 0:
            raise ValueError(f"task {start} of {split.value}: expected 0 or more")
        rows = [draw(name, options.generated, split, seed, start + i) for i in range(count)]
    else:
        rows = problem_set(options).draw(split, seed, start, count)
    return [
        Task(f"maths/{split.value}/{seed}/{start + number}", split, seed, _payload(row))
        for number, row in enumerate(rows)
    ]


def problem_set(options: MathsOptions) -> Problems[MathsRow]:
    """The checked problems of a package or a file."""
    kind, _, name = options.problems.partition(":")
    if kind == "package":
        if options.sha256 is not None:
            raise ValueError("maths option sha256: pins a file, got a package; leave it out")
        return _packaged(name)
    if kind in ("generated", "") or not options.problems:
        raise ValueError(f"maths option problems: got {options.problems!r}; {_KNOWN}")
    return load_problems(options.problems, MathsRow, options.sha256)


@lru_cache(maxsize=4)
def _packaged(name: str) -> Problems[MathsRow]:
    return load_package(name)


def _payload(row: MathsRow) -> dict[str, str]:
    return {"question": row.question, "answer": row.answer, "source": row.source, "id": row.id}


_KNOWN = (
    f"expected one of {[f'generated:{kind}' for kind in KINDS]}, "
    f"{[f'package:{name}' for name in SETS]}, or a file .jsonl, .jsonl.gz or .parquet"
)
