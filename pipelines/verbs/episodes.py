"""`python -m pipelines episodes`: one iteration's episodes as a page to look through."""

import argparse
import sys
from typing import Any

from pipelines import arguments

TEXT = "write a page of an iteration's episodes: prompts, candidates, rewards, picks"
MORE = """All candidates of a prompt stand side by side. The page needs no network and no
server: open it in a browser, filter by outcome, role and surprise; `?` shows the keys.

examples:
  python -m pipelines episodes experiments/quickstart/config.yaml
  python -m pipelines episodes quickstart-fa64ed1b --iteration 3 --against 1 -o page.html"""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "episodes", _episodes, TEXT, MORE)
    arguments.add_run(verb)
    number = arguments.not_negative
    verb.add_argument("--iteration", type=number, metavar="N", help="default: the latest")
    verb.add_argument(
        "--against", type=number, metavar="M", help="another one: the same tasks side by side"
    )
    verb.add_argument(
        "-o", "--output", metavar="FILE", help="default: build/runs/RUN/episodes-00000N.html"
    )


def _episodes(options: argparse.Namespace) -> int:
    from pipelines.finding import find_run
    from pipelines.looking import write_episodes

    path = arguments.output_path(options.output)
    found = find_run(options.run, options.store)
    _tell_unkept(found, options.iteration, options.against)
    written = write_episodes(found, options.iteration, options.against, path)
    print(f"{written.num_episodes} episodes: {written.path}")
    return arguments.OK


def _tell_unkept(found: Any, iteration: int | None, against: int | None) -> None:
    """Which held-out play the page has not, and why. Before the page, which may have no other."""
    from components.reporting.unkept import unkept
    from components.state import latest_iteration

    chosen = latest_iteration(found.store, found.name) if iteration is None else iteration
    for number in dict.fromkeys((chosen, against)):
        for line in unkept(found.store, found.name, number) if number is not None else ():
            print(f"note: {line}", file=sys.stderr)
