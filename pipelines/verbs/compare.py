"""`python -m pipelines compare`: which of two teams is better, on the same held-out tasks."""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "compare two teams task by task: differences, intervals, a verdict"
MORE = """\
A and B are RUN, RUN:iteration (a run's name or an experiment's YAML file), TEAM@alias or TEAM@v2.
Of a run the latest team that was played on held-out tasks is taken. Nothing is played again unless
--evaluate says so; then, if outcomes or rewards of either are not stored, both play the tasks of
A's experiment, greedily, once.

examples:
  python -m pipelines compare quickstart-fa64ed1b:4 quickstart-fa64ed1b:8
  python -m pipelines compare experiments/quickstart/config.yaml quickstart@champion
  python -m pipelines compare seed0 seed1 --benchmark test --evaluate --json

Differences are A minus B: success, turns, and the mean reward of each role, with intervals of a
paired bootstrap over tasks (10,000 resamples). A team is called better if that interval of the
success leaves out 0 and the exact McNemar test agrees."""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "compare", _compare, TEXT, MORE)
    verb.add_argument("first", metavar="A", help="a team; its experiment's tasks are played")
    verb.add_argument("second", metavar="B", help="the team that it is compared to")
    verb.add_argument("--store", metavar="URI", help="where the runs are; of teams: as registered")
    arguments.add_tracking(verb)
    verb.add_argument(
        "--benchmark", default="validation", metavar="NAME",
        help="validation, test, or one of evaluation.benchmarks; default: validation",
    )  # fmt: skip
    verb.add_argument(
        "--evaluate", action="store_true",
        help="play what is not stored, both teams on the tasks of A's experiment",
    )  # fmt: skip
    verb.add_argument(
        "--confidence", type=float, default=0.95, metavar="P",
        help="of the intervals, from 0.5 to 0.9999; default: 0.95",
    )  # fmt: skip
    verb.add_argument("--json", action="store_true", help="the result as JSON on stdout")


def _compare(options: argparse.Namespace) -> int:
    import json

    from components.comparison.compare import compare
    from components.comparison.text import comparison_text
    from components.errors import ConfigError
    from pipelines.sides import find_side, has_rewards, is_playable, play_both, stored_pair

    if not 0.5 <= options.confidence <= 0.9999:
        raise ConfigError(
            f"--confidence {options.confidence}: expected a share from 0.5 to 0.9999, such as 0.95"
        )
    sides = [
        find_side(text, options.benchmark, options.store, options.tracking)
        for text in (options.first, options.second)
    ]
    pair, problem = stored_pair(sides[0], sides[1], options.benchmark)
    playable = is_playable(sides[0], options.benchmark, needed=pair is None)
    if options.evaluate and playable and not has_rewards(pair):
        arguments.one_thread()
        with os.fdopen(os.dup(2), "w", buffering=1) as terminal:
            pair = play_both(sides[0], sides[1], options.benchmark, terminal)
    if pair is None:
        raise ConfigError(problem)
    names = (sides[0].name, sides[1].name)
    result = compare(*pair, names, options.confidence, sides[0].shares)
    print(json.dumps(result, indent=1) if options.json else comparison_text(result))
    return arguments.OK
