"""`python -m pipelines logs`: what the steps of a run printed, here or on a cluster."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "what the steps of a run printed, on this machine or with --endpoint on a cluster"
MORE = """examples:
  python -m pipelines logs quickstart-fa64ed1b                     # the last iteration's
  python -m pipelines logs quickstart-fa64ed1b --iteration 3 --step update
  python -m pipelines logs quickstart-fa64ed1b -f                  # as they are written
  python -m pipelines logs quickstart-fa64ed1b --step rollout --endpoint http://127.0.0.1:8888

Here the logs are build/runs/<run>/logs/<iteration>.log, one attempt after the other; of kfp's local
runner the steps' own lines are shown, with --all everything. A cluster is
asked through Kubeflow's API: of pods that are gone it has what Argo archived."""


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.connecting import add_access

    verb = arguments.add_verb(verbs, "logs", _logs, TEXT, MORE)
    arguments.add_run(verb)
    verb.add_argument("--step", metavar="S", help="one step's, e.g. rollout")
    verb.add_argument(
        "--iteration",
        type=arguments.not_negative,
        metavar="N",
        help="default: the last; 0: the start",
    )
    verb.add_argument("-f", "--follow", action="store_true", help="go on as more is printed")
    verb.add_argument(
        "--all", action="store_true", help="also what kfp's local runner says around the steps"
    )
    add_access(verb, "shows the logs of its pods")


def _logs(options: argparse.Namespace) -> int:
    from pipelines.connecting import connect
    from pipelines.logbook import show
    from pipelines.overview import open_run

    found = open_run(options.run, options.store)
    chosen = (options.iteration, options.step, options.follow, _say)
    if options.endpoint:
        from pipelines.remote import show_logs

        show_logs(connect(options), found, *chosen)
    else:
        show(found.name, *chosen, options.all)
    return arguments.OK


def _say(line: str) -> None:
    print(line, flush=True)
