"""`python -m pipelines submit`: see pipelines/submit.py."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "train on a cluster, a run per iteration"


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.submit import add_arguments

    verb = arguments.add_config(verbs, "submit", _submit, TEXT)
    arguments.add_profile(verb)
    add_arguments(verb)


def _submit(options: argparse.Namespace) -> int:
    from pipelines.submit import submit

    submit(arguments.load(options), arguments.open_profile(options), options)
    return arguments.OK
