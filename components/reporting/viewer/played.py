"""What was played in an iteration, read from the store: training groups and held-out answers."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from components.answers import kept, read_kept, shown_as
from components.config import ExperimentConfig
from components.errors import ConfigError
from components.manifests import committed, output_key
from components.policies import PolicyRef
from components.records import Episode, Sample
from components.reporting.summary import Found
from components.reporting.unread import Place, or_left_out
from components.reporting.viewer.page import Source, Spell
from components.reporting.viewer.tokens import spellings
from components.state import latest_iteration, read_state
from components.storage import Store
from components.stored_records import read_stored

TRAINING = "training"


def played(store: Store, run: str, iteration: int) -> list[Source]:
    """The sources of one iteration: training play first, then held-out play where it was kept.

    ConfigError if the run has neither of this iteration.
    """
    found = committed(store, run, iteration)
    sources = []
    key = _last(found, "group")
    if key:
        samples = read_stored(store, output_key(key, "samples"), Sample)
        sources.append(Source(iteration, TRAINING, samples, _episodes(store, found, "episodes")))
    for step, benchmark in kept(store, run, iteration):
        name = shown_as(step, benchmark)
        read = partial(read_kept, store, run, iteration, step, benchmark)
        rows = or_left_out(f"answers of {name}", Place(run, iteration, step), read)
        if rows is None:
            continue
        ended = _episodes(store, [item for item in found if item[1].step == step], "evaluation")
        own = [episode for episode in ended if episode["benchmark"] == benchmark]
        sources.append(Source(iteration, name, rows, own))
    if not sources:
        latest = latest_iteration(store, run)
        first = 0 if kept(store, run, 0) else 1
        played = f"expected {first} to {latest}" if latest else "none of its iterations is done yet"
        raise ConfigError(f"run {run!r}: nothing was played in iteration {iteration}; {played}")
    return sources


def speller(store: Store, config: ExperimentConfig, run: str, iterations: Iterable[int]) -> Spell:
    """Spells tokens with the tokenizers of the policies that played these iterations."""
    refs: dict[str, PolicyRef] = {}
    latest = latest_iteration(store, run)
    for iteration in iterations:
        for number in {max(iteration - 1, 0), min(iteration, latest or 0)}:
            state = read_state(store, run, number)
            refs |= {ref.tag: ref for ref in (*state.policies.values(), *state.initial.values())}

    def spell(version: str, ids: Iterable[int]) -> Mapping[int, str]:
        return spellings(store, refs[version], ids) if version in refs else {}

    return spell


def _episodes(store: Store, found: Found, output: str) -> list[Mapping[str, Any]]:
    """The Episode rows of the last step that has the output: a staged play adds to it by turns."""
    keys = [output_key(key, output) for key, item in found if output in item.outputs]
    rows: list[Any] = read_stored(store, keys[-1], Episode).to_pylist() if keys else []
    return rows


def _last(found: Found, step: str) -> str | None:
    keys = [key for key, item in found if item.step == step]
    return keys[-1] if keys else None
