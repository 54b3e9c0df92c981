"""`python -m pipelines config`: the resolved configuration."""

import argparse
from typing import Any

import yaml

from pipelines import arguments

TEXT = "print the resolved configuration"


def add(verbs: Any) -> None:
    """Add the verb."""
    arguments.add_config(verbs, "config", _config, TEXT)


def _config(options: argparse.Namespace) -> int:
    content = arguments.load(options, ask=False).model_dump(mode="json")
    print(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), end="")
    return arguments.OK
