"""What a report leaves out, with a line that says so, where a step's record cannot be read.

A damaged file of one evaluation is no reason to show nothing of a run.
"""

import sys
from collections.abc import Callable
from typing import TypeVar

from components.errors import RolewiseError
from components.manifests import StepManifest

Value = TypeVar("Value")


def or_left_out(what: str, step: StepManifest, read: Callable[[], Value]) -> Value | None:
    """What `read` gives; None, and a warning on stderr that names the record, if it cannot."""
    try:
        return read()
    except RolewiseError as error:  # the boundary: all else is shown
        print(
            f"warning: {step.run}, iteration {step.iteration}: {what} of its step {step.step!r} "
            f"are left out: {error}",
            file=sys.stderr,
            flush=True,
        )
        return None
