"""Run the benchmarks: an aligned table of ratios, and the same rows in build/bench.json.

`python -m tests.benchmarks.run [--only NAME]`. With --only the other benchmarks' rows stay in the
file. A benchmark that fails becomes a row that says why. Exit code 1 if a measured goal was missed,
2 if NAME is no benchmark.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.aligned import aligned
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
    known = [] if only is None else others(only, rows)
    places = {name: place for place, name in enumerate(names)}
    merged = sorted([*known, *rows], key=lambda row: places.get(row.get("benchmark", ""), 99))
    TARGET.write_text(json.dumps(merged, indent=1) + "\n")
    print(f"written: {TARGET}")
    return int(any(row["met"] is False for row in rows))


def benchmarks(folder: Path = FOLDER) -> list[str]:
    """Names of all modules `bench_<name>.py`, sorted."""
    return sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))


def others(only: str, rows: Sequence[Row]) -> list[Row]:
    """What the file has of other benchmarks than the one measured; nothing if it is no such file.

    Rows that do not say whose they are, as older files have them, are known by their names.
    """
    try:
        known: list[Row] = json.loads(TARGET.read_text())
        new = {row["name"] for row in rows}
        return [it for it in known if it.get("benchmark") != only and it["name"] not in new]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def measure(name: str) -> list[Row]:
    """The rows of one benchmark."""
    print(f"measuring {name} ...", flush=True)
    try:
        module = importlib.import_module(f"tests.benchmarks.bench_{name}")
        rows: list[Row] = module.rows()
    except Exception as error:  # one that fails is reported in its row and must not stop the rest
        rows = [unmeasured(name, None, f"{type(error).__name__}: {error}")]
    filled: list[dict[str, Any]] = [
        {"unit": "", "note": "", **row, "benchmark": name} for row in rows
    ]
    return [Row(**row) for row in filled]  # type: ignore[typeddict-item]


def table(rows: Sequence[Row]) -> list[str]:
    """Aligned text lines."""
    return aligned([HEADER, *(_cells(row) for row in rows)], left={0, 6})


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
