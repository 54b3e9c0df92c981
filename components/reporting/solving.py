"""How many turns a team takes where it solves a held-out task: read from its Episode records."""

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any

from components.manifests import StepManifest, output_key
from components.records import Episode
from components.reporting.unread import of, or_left_out
from components.storage import Store
from components.stored_records import read_stored

BENCHMARK = "validation"


def turns_to_solve(store: Store, found: Sequence[tuple[str, StepManifest]]) -> float | None:
    """Mean turns of solved validation episodes, of the last of the steps that played some.

    A record that cannot be read is left out, with a warning: the step before it, if it is of the
    same team, tells the same.
    """
    for key, item in reversed(found):
        if "evaluation" not in item.outputs:
            continue
        rows = or_left_out("turns to solve", of(item), partial(_episodes, store, key)) or []
        own = [row for row in rows if row["benchmark"] == BENCHMARK]
        if own:
            solved = [row["num_turns"] for row in own if row["status"] == "solved"]
            return fmean(solved) if solved else None
    return None


def _episodes(store: Store, key: str) -> list[Any]:
    rows: list[Any] = read_stored(store, output_key(key, "evaluation"), Episode).to_pylist()
    return rows
