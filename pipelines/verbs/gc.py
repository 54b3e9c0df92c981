"""`python -m pipelines gc`: retention. What is kept, marked, removed, and why."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "mark and remove policies and optimiser states that the retention rules do not keep"
_MORE = """\
It takes two calls: the first marks what nothing refers to, a later one removes what has been
marked for the grace period and was not used in between. So it may be called while runs go on.

Kept are what runs began with, all bases, the last two teams, every n-th
(storage.keep_policies_every), the best on validation, the last optimiser states
(storage.keep_optimizers), what steps made for an iteration under way, champions that a rollback can
reach, candidates, everything that an alias in MLflow's registry names, and all that other runs of
the same store share. States, records, metrics and reports are never removed.

examples:
  python -m pipelines gc experiments/quickstart/config.yaml --dry-run  # what one run could lose
  python -m pipelines gc --all --store s3://teams/rolewise             # a whole store: nightly
  python -m pipelines gc quickstart-fa64ed1b --grace-hours 0           # at once: nothing is running

exit codes: 0 done, 2 wrong arguments or something could not be read: then nothing was removed"""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "gc", _gc, TEXT, _MORE)
    verb.add_argument(
        "run", metavar="RUN", nargs="?", help="a run's name, or an experiment's YAML file"
    )
    verb.add_argument(
        "--all", action="store_true",
        help="the whole store: all runs, and what no run refers to; with RUN: of RUN's store",
    )  # fmt: skip
    verb.add_argument(
        "--store", metavar="URI",
        help="file://folder or s3://bucket/prefix; default: the YAML file's, else file://build/store",
    )  # fmt: skip
    verb.add_argument("--dry-run", action="store_true", help="print the plan, change nothing")
    verb.add_argument(
        "--grace-hours", type=_hours, default=24.0, metavar="H",
        help="between mark and removal, default 24; longer than any step takes. 0: at once",
    )  # fmt: skip
    for name in ("optimizers", "policies-every"):
        verb.add_argument(
            f"--keep-{name}", type=_positive, metavar="N",
            help=f"in place of storage.keep_{name.replace('-', '_')}, for RUN or --all",
        )  # fmt: skip


def _gc(options: argparse.Namespace) -> int:
    from pipelines.retention import collect_garbage

    collect_garbage(options, print)
    return arguments.OK


def _hours(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r}: expected hours, 0 or more")
    return value


def _positive(text: str) -> int:
    value = arguments.not_negative(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected 1 or more")
    return value
