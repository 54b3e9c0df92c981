"""`python -m pipelines promote`: asks the gate about a team."""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "evaluate a team and move the aliases to it"


def add(verbs: Any) -> None:
    """Add the verb."""
    promote = arguments.add_config(verbs, "promote", _promote, TEXT)
    promote.add_argument("--iteration", type=int, metavar="N", help="default: the latest")
    arguments.add_execution(promote)


def _promote(options: argparse.Namespace) -> int:
    from pipelines.closing import is_promoted, verdict_text
    from pipelines.display import Display
    from pipelines.driver import Options, promote

    config = arguments.load(options)
    arguments.one_thread()
    keep = options.keep_artifacts
    choice = Options(options.name, options.runner, options.retries, True, keep)
    with os.fdopen(os.dup(1), "w") as terminal:
        display = Display(terminal, config.iterations)
        verdict = promote(config, choice, options.iteration, display)
        display.say(verdict_text(verdict))
    return arguments.OK if is_promoted(verdict) else arguments.REFUSED
