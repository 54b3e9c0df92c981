"""`python -m envs.maths.prepare SET --output FILE`: bring a data set into our problem format, once.

Records come from the Hugging Face hub, from files in the hub's format (`--from`), from an installed
package, or are made here. A reference that a right answer could not reach is listed and left out.
Beside FILE goes FILE.manifest.json: digest, counts, licence, what was left out and why.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from envs.base import Split
from envs.maths import packaged
from envs.maths.generated import KINDS, draw
from envs.maths.grading_algebra import GraderUnavailable
from envs.maths.grading_check import fault_of
from envs.maths.options import GeneratedOptions
from envs.maths.rows import MathsRow
from envs.maths.sources import HUB, Adapted, adapt, licence_of
from envs.problems import LIMITS, write_problems
from envs.problems.formats import parse
from envs.problems.places import fetch, store

_LISTED = 20
"""Left-out records that are printed; the manifest has all."""
_RANK = {Split.TEST: 0, Split.VALIDATION: 1}
Found = Iterable[tuple[str, Adapted]]
"""(name of the record, its row or why it is left out)"""


class LeftOut(NamedTuple):
    """A record that is not in the file."""

    name: str
    reason: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 with a sentence where nothing could be written."""
    options = _parser().parse_args(arguments)
    try:
        rows, left_out = select(_records(options), options.split)
        if not rows:
            raise ValueError(f"{options.set}: no problem is left; the first: {left_out[:3]}")
        digest = write_problems(options.output, rows)
        store(f"{options.output}.manifest.json", _manifest(options, rows, left_out, digest))
    except (ValueError, GraderUnavailable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for item in left_out[:_LISTED]:
        print(f"left out {item.name}: {item.reason[:160]}")
    print(f"{len(rows)} problems {_counts(rows)}, {len(left_out)} left out")
    print(f"problems: {options.output}\nsha256: {digest}")
    return 0


def select(found: Found, split: Split | None = None) -> tuple[list[MathsRow], list[LeftOut]]:
    """The rows that can be graded, each question once: test is kept before validation, and that
    before train, so that no held-out question is trained on. `split`: of all rows."""
    rows: list[tuple[str, MathsRow]] = []
    left_out: list[LeftOut] = []
    for name, row in found:
        fault = row if isinstance(row, str) else fault_of(row.answer)
        if isinstance(row, str) or fault:
            shown = "" if isinstance(row, str) else f"the reference {row.answer!r} "
            left_out.append(LeftOut(name, f"{shown}{fault}"))
        else:
            rows.append((name, row.model_copy(update={"split": split}) if split else row))
    owners: dict[str, str] = {}
    for name, row in sorted(rows, key=lambda pair: _RANK.get(pair[1].split or Split.TRAIN, 2)):
        owner = owners.setdefault(row.key, name)
        if owner != name:
            left_out.append(LeftOut(name, f"the same question as {owner}"))
    return [row for name, row in rows if owners[row.key] == name], left_out


def _records(options: argparse.Namespace) -> Found:
    kind, _, name = options.set.partition(":")
    if kind == "generated":
        return _generated(name, options)
    if options.set in packaged.SETS and not options.files:
        return packaged.adapted(options.set)
    return _adapted(options)


def _adapted(options: argparse.Namespace) -> Iterator[tuple[str, Adapted]]:
    name = options.set
    if name not in HUB:
        raise ValueError(f"{name} is a package's set: leave --from out")
    places: list[tuple[str, str | None]] = [_part_file(text) for text in options.files]
    for part, file in places or [(part, None) for part in HUB[name].parts]:
        records = _file(file) if file else _hub(name, part, options.revision)
        for number, record in records:
            yield f"{file or part}, row {number}", adapt(name, part, record)


def _file(file: str) -> Iterator[tuple[int, Any]]:
    return parse(file, fetch(file, LIMITS.file_bytes, None), LIMITS)


def _hub(name: str, part: str, revision: str | None) -> Iterator[tuple[int, Any]]:
    """Records one by one; whatever the library or the hub raises becomes one line."""
    source = HUB[name]
    try:
        from datasets import load_dataset  # type: ignore[import-untyped,unused-ignore]

        found = load_dataset(source.repo, source.config, split=part, revision=revision)
        yield from enumerate(found, 1)
    except ImportError as error:
        raise ValueError(f"{name}: needs the package datasets==5.2.0") from error
    except Exception as error:  # the hub's and the library's failures have no common class
        reason = " ".join(str(error).split())[:300]
        raise ValueError(
            f"{name}: {source.repo}, part {part}, cannot be read ({reason}); without the hub, give "
            f"its records by --from {part}=FILE"
        ) from error


def _generated(kind: str, options: argparse.Namespace) -> Iterator[tuple[str, Adapted]]:
    """`count` problems of the train stream's kind, or of the split that was asked for."""
    sizes, split = GeneratedOptions(), options.split or Split.TRAIN
    for index in range(options.count):
        row = draw(kind, sizes, split, options.seed, index)
        yield f"problem {index}", row.model_copy(update={"split": split})


def _part_file(text: str) -> tuple[str, str | None]:
    part, equals, file = text.partition("=")
    if not equals or part not in list(Split):
        raise ValueError(f"--from {text!r}: expected train=FILE, validation=FILE or test=FILE")
    return part, file


def _manifest(
    options: argparse.Namespace, rows: Sequence[MathsRow], left_out: Sequence[LeftOut], digest: str
) -> bytes:
    content = {
        "set": options.set,
        "files": options.files,
        "revision": options.revision,
        "licence": licence_of(options.set),
        "sha256": digest,
        "problems": _counts(rows),
        "left_out": {item.name: item.reason for item in left_out},
    }
    return f"{json.dumps(content, indent=1)}\n".encode()


def _counts(rows: Sequence[MathsRow]) -> dict[str, int]:
    counts = Counter(row.split.value if row.split else "by digest" for row in rows)
    return dict(sorted(counts.items()))


def _parser() -> argparse.ArgumentParser:
    sets = [*HUB, *packaged.SETS, *(f"generated:{kind}" for kind in KINDS)]
    parser = argparse.ArgumentParser(
        prog="python -m envs.maths.prepare",
        description="Bring a data set of mathematics problems into the format of env maths.",
    )
    parser.add_argument("set", choices=sets, metavar="SET", help=" | ".join(sets))
    parser.add_argument("--output", required=True, metavar="FILE",
                        help=".jsonl, .jsonl.gz or .parquet, at a path or s3://")  # fmt: skip
    parser.add_argument("--from", dest="files", action="append", default=[], metavar="PART=FILE",
                        help="records in the hub's format (.jsonl, .jsonl.gz, .parquet) instead of "
                        "the hub; PART is train, validation or test; may be repeated")  # fmt: skip
    parser.add_argument("--revision", help="commit of the hub's repository")
    parser.add_argument("--split", type=Split, choices=list(Split), metavar="SPLIT",
                        help="put every problem into train, validation or test")  # fmt: skip
    parser.add_argument("--count", type=int, default=1000, help="generated problems (1000)")
    parser.add_argument("--seed", type=int, default=0, help="of generated problems (0)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
