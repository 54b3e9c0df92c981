"""What the store has of an iteration's play: what it was trained on, and who was evaluated."""

import json

from components import records
from components.answers import CLOSING
from components.manifests import committed, read_output
from components.policies import PolicyRef
from components.records import Sample, Scored
from components.storage import Store
from components.stored_records import read_committed

_SOURCES = (("group", "samples"), ("rollout", "scored"), ("execute_turn", "scored"))
"""Step and output; the first that is there has all rows."""


def stored_rows(store: Store, run: str, iteration: int) -> list[Scored] | None:
    """All rows of the iteration's training play; None if no step committed them."""
    for step, output in _SOURCES:
        key = _last(store, run, iteration, step, output)
        if key is not None:
            row: type[records.Row] = Sample if output == "samples" else Scored
            found = records.from_table(row, read_committed(store, key, output, row))
            return [item.scored if isinstance(item, Sample) else item for item in found]
    return None


def reported_policies(store: Store, run: str, iteration: int) -> list[PolicyRef]:
    """Of every team that met in the iteration's closing evaluations, the champions among them."""
    found = []
    for key, _ in committed(store, run, iteration, CLOSING):
        teams = json.loads(read_output(store, key, "report"))["teams"]
        found += [PolicyRef.from_json(of["ref"]) for team in teams.values() for of in team.values()]
    return found


def _last(store: Store, run: str, iteration: int, step: str, output: str) -> str | None:
    """The newest manifest of the step that has the output."""
    found = committed(store, run, iteration, step)
    keys = [key for key, manifest in found if output in manifest.outputs]
    return keys[-1] if keys else None
