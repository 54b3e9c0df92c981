"""`python -m pipelines run`: trains on this machine, or goes on with a run."""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "train on this machine, or go on with a run"


def add(verbs: Any) -> None:
    """Add the verb."""
    run = arguments.add_config(verbs, "run", _run, TEXT)
    run.add_argument("--iterations", type=int, metavar="N", help="total; replaces the file's")
    arguments.add_execution(run)


def _run(options: argparse.Namespace) -> int:
    from pipelines.closing import close
    from pipelines.display import Display
    from pipelines.driver import Options, train

    config = arguments.load(options)
    arguments.one_thread()
    keep = options.keep_artifacts
    choice = Options(options.name, options.runner, options.retries, True, keep)
    with os.fdopen(os.dup(1), "w") as terminal:
        display = Display(terminal, config.iterations)
        close(config, train(config, choice, display), display.say)
    return arguments.OK
