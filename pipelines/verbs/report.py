"""`python -m pipelines report`: a run's table and its HTML report."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "print a run's table and write its HTML report"


def add(verbs: Any) -> None:
    """Add the verb."""
    report = arguments.add_config(verbs, "report", _report, TEXT)
    report.add_argument("--name", help="the run's name, if it was given one")


def _report(options: argparse.Namespace) -> int:
    from pipelines.closing import close
    from pipelines.driver import run_name

    config = arguments.load(options)
    close(config, run_name(config, options.name), print)
    return arguments.OK
