"""Run the benchmarks: an aligned table of ratios, and the same rows in build/bench.json.

`python -m tests.benchmarks.run [--only NAME]`. A benchmark that fails becomes a row that says
why. Exit code 1 if a measured goal was missed, 2 if NAME is no benchmark.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.harness import Row, unmeasured

FOLDER = Path(__file__).parent
TARGET = Path("build/bench.json")
HEADER = ["benchmark", "ours", "other", "ratio", "goal", "met", "note"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.run", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="run bench_NAME.py alone")
    only = parser.parse_args(arguments).only
    names = benchmarks()
    if only is not None and only not in names:
        print(f"error: --only {only}: expected one of {', '.join(names)}", file=sys.stderr)
        return 2
    rows = [row for name in names if only in (None, name) for row in measure(name)]
    print("\n".join(table(rows)))
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"written: {TARGET}")
    return int(any(row["met"] is False for row in rows))


def benchmarks(folder: Path = FOLDER) -> list[str]:
    """Names of all modules `bench_<name>.py`, sorted."""
    return sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))


def measure(name: str) -> list[Row]:
    """The rows of one benchmark."""
    print(f"measuring {name} ...", flush=True)
    try:
        module = importlib.import_module(f"tests.benchmarks.bench_{name}")
        rows: list[Row] = module.rows()
    except Exception as error:  # one that fails is reported in its row and must not stop the rest
        return [unmeasured(name, None, f"{type(error).__name__}: {error}")]
    return [Row(**{"unit": "", "note": "", **row}) for row in rows]  # type: ignore[typeddict-item]


def table(rows: Sequence[Row]) -> list[str]:
    """Aligned text lines."""
    cells = [HEADER, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADER))]
    return [
        "  ".join(
            text.ljust(width) if i in (0, 6) else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def _cells(row: Row) -> list[str]:
    def value(number: float | None) -> str:
        return "-" if number is None else f"{number:.3g} {row.get('unit', '')}".strip()

    def times(number: float | None) -> str:
        return "-" if number is None else f"{number:.3g}x"

    met = {True: "yes", False: "NO", None: "-"}[row["met"]]
    return [
        row["name"], value(row["ours"]), value(row["other"]), times(row["ratio"]),
        times(row["goal"]), met, row.get("note", ""),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
