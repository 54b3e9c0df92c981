"""The verbs of `python -m pipelines`, one module each, in the order in which --help lists them.

A module has `add(verbs)`, which adds its parsers. It imports what it needs when it runs.
"""

from importlib import import_module
from typing import Any

MODULES = (
    "config",
    "preflight",
    "run",
    "report",
    "episodes",
    "promote",
    "rollback",
    "history",
    "show",
    "register",
    "card",
    "gc",
    "compare",
    "replay",
    "compile",
    "submit",
    "status",
    "stop",
    "logs",
    "study",
    "demo",
    "import_model",
    "export",
    "serve_manifest",
    "serve",
)


def add_all(verbs: Any) -> None:
    """Add every verb to the command line."""
    for name in MODULES:
        import_module(f"{__name__}.{name}").add(verbs)
