"""`python -m envs.reasoning_gym.prepare TASK --count N --output FILE`: make a pool of entries.

For generators that are slow, or whose entries differ from process to process. Questions that come
twice and entries whose own answer does not score 1 are left out. Prints the file's digest.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import yaml

from envs.base import JSON
from envs.reasoning_gym import entries, generators, verdicts
from envs.reasoning_gym.pools import header, write_pool
from envs.reasoning_gym.streams import canonical, entry_seed, trustworthy

PER_ENTRY = 50
"""Draws for one more entry before the generator is said to have no more."""
REPORT_S = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, or 2 with one line of what is wrong."""
    options = _parser().parse_args(arguments)
    try:
        config = _config(options.set)
        verdicts.check(options.task)
        generators.check_config(options.task, config)
        pool = collect(options.task, config, options.seed, options.count, options.workers)
        head = header(generators.installed_version(), options.task, config)
        digest = write_pool(Path(options.output), head, pool)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"written: {options.output}, {len(pool)} entries\npool_digest: {digest}")
    return 0


def collect(
    task: str, config: dict[str, JSON], seed: int, count: int, workers: int = 1
) -> list[str]:
    """Different, trustworthy entries in the order of their draws; ValueError if there are fewer."""
    found: dict[str, str] = {}
    since, reported = 0, time.monotonic()
    for entry in _drawn(task, canonical(config), seed, count, workers):
        since += 1
        if entry is not None and found.setdefault(entry[0], entry[1]) is entry[1]:
            since = 0
        if time.monotonic() - reported > REPORT_S:
            reported = time.monotonic()
            print(f"{len(found)}/{count} entries", flush=True)
        if len(found) == count:
            return list(found.values())
        if since > PER_ENTRY + len(found):
            break
    raise ValueError(
        f"{task} with config {config} gave {len(found)} different entries, expected {count}; "
        "ask for fewer, or configure larger problems"
    )


def _drawn(
    task: str, config: str, seed: int, count: int, workers: int
) -> Iterator[tuple[str, str] | None]:
    positions = range(count * PER_ENTRY)
    make = partial(_make, task, config, seed)
    if workers == 1:
        yield from map(make, positions)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for start in range(0, len(positions), 16 * workers):
            yield from pool.map(make, positions[start : start + 16 * workers])


def _make(task: str, config: str, seed: int, position: int) -> tuple[str, str] | None:
    """(digest of the question, entry), or None where the grader cannot be trusted."""
    own = entry_seed(task, config, f"pool/{seed}/{position}")
    entry = generators.make_entry(task, json.loads(config), own)
    text = entries.dump(entry)
    return (entries.digest(entry["question"]), text) if trustworthy(task, config, text) else None


def _config(pairs: Sequence[str]) -> dict[str, JSON]:
    config = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair!r}: expected KEY=VALUE")
        try:
            config[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ValueError(f"--set {pair!r}: not YAML: {' '.join(str(error).split())}") from error
    return config


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 1 or more")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m envs.reasoning_gym.prepare",
                                     description=__doc__)  # fmt: skip
    parser.add_argument("task", help="a generator of the package")
    parser.add_argument("--count", type=_positive, required=True, help="entries, of all splits")
    parser.add_argument("--output", required=True, metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="an option of the generator, the value as YAML")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=_positive, default=1, help="processes (default: 1)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
