"""`python -m pipelines promote`: asks the gate about a team."""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "evaluate a team and move the aliases to it if it passes the gate"
MORE = """\
examples:
  python -m pipelines promote experiments/quickstart/config.yaml --iteration 4
  python -m pipelines promote quickstart-fa64ed1b             # a run's name, the latest iteration
  python -m pipelines promote quickstart-fa64ed1b --dry-run   # evaluate and say, move nothing
  python -m pipelines promote quickstart-fa64ed1b --again     # also after it was rolled back

The gate: the lower bound of the paired success difference to the champion (at first: to the team
that the run began with) is above promotion.min_gain. What was evaluated
against the same champion is not played again.
exit codes: 0 promoted (or would be), 1 a step failed, 2 wrong input, 3 the gate refused."""


def add(verbs: Any) -> None:
    """Add the verb."""
    promote = arguments.add_config(verbs, "promote", _promote, TEXT, MORE, arguments.RUN_OR_FILE)
    promote.add_argument(
        "--iteration", type=arguments.not_negative, metavar="N", help="default: the latest"
    )
    promote.add_argument(
        "--dry-run", action="store_true",
        help="evaluate the team and say what the gate would; no version, no alias, no log entry",
    )  # fmt: skip
    promote.add_argument(
        "--again", action="store_true",
        help="decide anew about a team whose promotion was rolled back; the audit log keeps that",
    )  # fmt: skip
    promote.add_argument(
        "--store",
        metavar="URI",
        help="where the run is; default: the YAML file's, else build/store",
    )
    arguments.add_execution(promote)


def _promote(options: argparse.Namespace) -> int:
    from pipelines.closing import is_promoted, verdict_text
    from pipelines.display import Display
    from pipelines.driver import Options, promote, run_closing

    config, name = _run(options)
    arguments.one_thread()
    keep = options.keep_artifacts
    choice = Options(name, options.runner, options.retries, True, keep)
    with os.fdopen(os.dup(1), "w") as terminal:
        display = Display(terminal, config.iterations)
        if options.dry_run:
            chosen = run_closing("evaluation", config, choice, options.iteration, display)
            verdict = _would(config, name, chosen, options.again)
            display.say(_dry_text(verdict))
        else:
            if options.again:
                chosen = run_closing("evaluation", config, choice, options.iteration, display)
                _reopen(config, name, chosen)
            verdict = promote(config, choice, options.iteration, display)
            display.say(verdict_text(verdict))
    return arguments.OK if is_promoted(verdict) else arguments.REFUSED


def _run(options: argparse.Namespace) -> tuple[Any, str]:
    """Configuration and name of the run: CONFIG with --set and --name, or a run's name."""
    from pipelines.driver import run_name
    from pipelines.finding import find_run, is_file

    if is_file(options.config):
        if options.store:
            options.overrides.append(f"storage.uri={options.store}")
        config = arguments.load(options)
        return config, run_name(config, options.name)
    if options.overrides or options.name:
        arguments.check_file(options.config)
    found = find_run(options.config, options.store)
    return found.config, found.name


def _would(config: Any, run: str, iteration: int, again: bool) -> dict[str, Any]:
    from components.promotion.trial import would_promote
    from components.storage import open_store

    return would_promote(config, open_store(config.storage), run, iteration, again)


def _reopen(config: Any, run: str, iteration: int) -> None:
    from components.promotion.trial import reopen
    from components.storage import open_store

    reopen(config, open_store(config.storage), run, iteration)


def _dry_text(verdict: dict[str, Any]) -> str:
    word = "would be promoted" if verdict["promoted"] else "would be refused"
    reasons = "; ".join(verdict["reasons"])
    place = f" in place of {verdict['reference']}" if verdict["reference"] else ""
    return f"dry run: {word}{place}: {reasons}; nothing was moved"
