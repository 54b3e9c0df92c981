"""Evaluations of which the store has how they ended and not what was answered: found, and in words.

Answers of held-out play are kept beside the records, and older versions kept none.
"""

from typing import Any

from components.answers import CLOSING, kept
from components.manifests import StepManifest, committed, output_key
from components.records import Episode
from components.reporting.unread import of, or_left_out
from components.storage import Store
from components.stored_records import read_stored

_LOADING = ("rollout", "evaluate_team")
"""Steps that play the team that their iteration loads: the one that the iteration before made."""


def unkept(store: Store, run: str, iteration: int) -> list[str]:
    """A line for each evaluation of the iteration whose answers were not kept, with the way to
    have them; empty where all were, or nothing was evaluated."""
    having = set(kept(store, run, iteration))
    found: dict[tuple[str, str], str] = {}
    for key, item in committed(store, run, iteration):
        if "evaluation" in item.outputs:
            names = _benchmarks(store, key, item)
            found |= {(item.step, name): key for name in names if (item.step, name) not in having}
    lines: dict[str, list[str]] = {}
    for (step, benchmark), key in found.items():
        lines.setdefault(_way(store, run, iteration, step, key), []).append(repr(benchmark))
    return [
        f"{run}, iteration {iteration}: no answers were kept of {', '.join(names)}; {way}"
        for way, names in lines.items()
    ]


def _benchmarks(store: Store, key: str, item: StepManifest) -> list[str]:
    """What the step played, by its episodes; none that was not due."""
    table = or_left_out(
        "episodes", of(item), lambda: read_stored(store, output_key(key, "evaluation"), Episode)
    )
    names: list[Any] = [] if table is None else table["benchmark"].unique().to_pylist()
    return names


def _way(store: Store, run: str, iteration: int, step: str, key: str) -> str:
    """What keeps them: a closing evaluation of that team, which moves no alias in a dry run."""
    team = iteration - 1 if step in _LOADING else iteration
    command = (
        f"`python -m pipelines promote {run} --iteration {team} --store {store.uri} --dry-run`"
    )
    first = f"delete {store.uri}/{key}, then " if step == CLOSING else ""
    return (
        f"step {step!r} has only how the episodes ended: {first}{command} plays the team again and "
        f"keeps its answers, as iteration {team}'s closing evaluation"
    )
