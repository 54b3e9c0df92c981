"""`python -m pipelines preflight`: see pipelines/preflight.py."""

import argparse
from typing import Any

from components.config import load_config
from pipelines import arguments


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.preflight import add_arguments

    text = "check before anything is booked"
    verb = arguments.add_config(verbs, "preflight", _preflight, text)
    arguments.add_profile(verb)
    add_arguments(verb)


def _preflight(options: argparse.Namespace) -> int:
    from pipelines.preflight import preflight

    config = load_config(options.config, options.overrides)
    passed = preflight(config, arguments.open_profile(options), options)
    return arguments.OK if passed else arguments.FAILED
