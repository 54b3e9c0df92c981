"""What a report leaves out, with a line that says so, where a step's record cannot be read.

A damaged file of one evaluation is no reason to show nothing of a run.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from components.errors import RolewiseError
from components.manifests import StepManifest

Value = TypeVar("Value")


class Place(NamedTuple):
    """Whose record it is."""

    run: str
    iteration: int
    step: str


def of(item: StepManifest) -> Place:
    """The place of a committed step's output."""
    return Place(item.run, item.iteration, item.step)


def or_left_out(what: str, place: Place, read: Callable[[], Value]) -> Value | None:
    """What `read` gives; None, and a warning on stderr that names the record, if it cannot."""
    try:
        return read()
    except RolewiseError as error:  # the boundary: all else is shown
        print(
            f"warning: {place.run}, iteration {place.iteration}: {what} of its step "
            f"{place.step!r} are left out: {error}",
            file=sys.stderr,
            flush=True,
        )
        return None
