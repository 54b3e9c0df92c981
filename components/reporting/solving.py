"""How many turns a team takes where it solves a held-out task: read from its Episode records."""

from collections.abc import Sequence
from statistics import fmean

from components.manifests import StepManifest, output_key
from components.records import Episode
from components.storage import Store
from components.stored_records import read_stored

BENCHMARK = "validation"


def turns_to_solve(store: Store, found: Sequence[tuple[str, StepManifest]]) -> float | None:
    """Mean turns of solved validation episodes, of the last of the steps that played some."""
    for key, item in reversed(found):
        if "evaluation" not in item.outputs:
            continue
        rows = read_stored(store, output_key(key, "evaluation"), Episode).to_pylist()
        own = [row for row in rows if row["benchmark"] == BENCHMARK]
        if own:
            solved = [row["num_turns"] for row in own if row["status"] == "solved"]
            return fmean(solved) if solved else None
    return None
