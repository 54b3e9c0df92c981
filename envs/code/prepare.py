"""`python -m envs.code.prepare SET --output FILE`: bring a data set into our problem format, once.

Records come from the Hugging Face hub, from files in the hub's formats (`--from`), or from an
installed package. Every problem's own solution must pass all of its tests in the sandbox; what does
not is listed and left out. Beside FILE goes FILE.manifest.json: digest, counts, what was left out.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from envs.base import Split
from envs.code.loaders.drafts import Draft, LeftOut
from envs.code.problem import CodeProblem
from envs.code.sources import LICENCES, drafts
from envs.code.verification import verified
from envs.problems import write_problems
from envs.problems.places import store
from envs.sandbox import SandboxOptions, open_sandbox

_LISTED = 20
"""Left-out records that are printed; the manifest has all."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 with a sentence where nothing could be written."""
    options = _parser().parse_args(arguments)
    try:
        rows, left_out = _make(options)
        digest = write_problems(options.output, rows)
        store(f"{options.output}.manifest.json", _manifest(options, rows, left_out, digest))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for item in left_out[:_LISTED]:
        print(f"left out {item.source}: {item.reason[:160]}")
    counts = _counts(rows)
    print(f"{len(rows)} problems {counts}, {len(left_out)} left out")
    print(f"problems: {options.output}\nsha256: {digest}")
    return 0


def unique(
    found: Iterable[CodeProblem | LeftOut],
) -> tuple[list[CodeProblem], list[LeftOut]]:
    """Problems without those that come twice: test is kept before validation, and that before
    train, so that no held-out problem is trained on."""
    items = list(found)
    problems = [item for item in items if isinstance(item, CodeProblem)]
    left_out = [item for item in items if isinstance(item, LeftOut)]
    rank = {Split.TEST: 0, Split.VALIDATION: 1}
    owners: dict[str, CodeProblem] = {}
    for problem in sorted(problems, key=lambda row: rank.get(row.split or Split.TRAIN, 2)):
        owner = owners.setdefault(problem.key, problem)
        if owner is not problem:
            left_out.append(LeftOut(problem.source, f"the same question as {owner.source}"))
    return [problem for problem in problems if owners[problem.key] is problem], left_out


def _make(options: argparse.Namespace) -> tuple[list[CodeProblem], list[LeftOut]]:
    sandbox = open_sandbox(SandboxOptions(cpu_s=options.cpu_s, packages=tuple(options.packages)))
    found: Iterator[Draft | LeftOut] = drafts(
        options.set, options.files, sandbox, options.max_tests, options.difficulty
    )
    rows, left_out = unique(verified(islice(found, options.limit), sandbox))
    if not rows:
        raise ValueError(f"{options.set}: no problem is left; the first: {left_out[:3]}")
    return rows, left_out


def _manifest(
    options: argparse.Namespace,
    rows: Sequence[CodeProblem],
    left_out: Sequence[LeftOut],
    digest: str,
) -> bytes:
    content = {
        "set": options.set,
        "files": options.files,
        "licence": LICENCES[options.set],
        "sha256": digest,
        "problems": _counts(rows),
        "without_solution": sum(row.solution is None for row in rows),
        "max_tests": options.max_tests,
        "packages": options.packages,
        "left_out": {item.source: item.reason for item in left_out},
    }
    return f"{json.dumps(content, indent=1)}\n".encode()


def _counts(rows: Sequence[CodeProblem]) -> dict[str, int]:
    counts = Counter(row.split.value if row.split else "by digest" for row in rows)
    return dict(sorted(counts.items()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m envs.code.prepare",
        description="Bring a data set of programming problems into the format of env code.",
    )
    parser.add_argument("set", choices=sorted(LICENCES), metavar="SET", help=" | ".join(LICENCES))
    parser.add_argument("--output", required=True, metavar="FILE",
                        help=".jsonl, .jsonl.gz or .parquet, at a path or s3://")  # fmt: skip
    parser.add_argument("--from", dest="files", action="append", default=[], metavar="SPLIT=FILE",
                        help="records in the hub's format (.jsonl or .parquet) instead of the hub; "
                        "SPLIT is train, validation or test; may be repeated")  # fmt: skip
    parser.add_argument("--difficulty", help="only records of this difficulty (introductory, ...)")
    parser.add_argument("--limit", type=_positive, help="records that are read, at most")
    parser.add_argument("--max-tests", type=_positive, default=64, help="golden tests of a problem")
    parser.add_argument("--package", dest="packages", action="append", default=[], metavar="NAME",
                        help="solutions may import it (as sandbox.packages)")  # fmt: skip
    parser.add_argument("--cpu-s", type=float, default=4.0, help="CPU seconds of a solution's run")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
