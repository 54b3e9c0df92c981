"""An iteration's judged answers as the store has them, whichever step committed them last."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components import records
from components.errors import ConfigError
from components.manifests import committed, read_output
from components.records import Sample, Scored
from components.state import latest_iteration
from components.storage import Store

_SOURCES = (("group", "samples"), ("rollout", "scored"), ("execute_turn", "scored"))
"""Step and output; the first that is there has all rows."""


def stored_rows(store: Store, run: str, iteration: int) -> list[Scored] | None:
    """All rows of the iteration's training play; None if no step committed them."""
    for step, output in _SOURCES:
        key = _last(store, run, iteration, step, output)
        if key is not None:
            row: type[records.Row] = Sample if output == "samples" else Scored
            found = _read(store, key, output, row)
            return [item.scored if isinstance(item, Sample) else item for item in found]
    return None


def find_iteration(store: Store, run: str, episode: str) -> int:
    """The iteration that played this episode. ConfigError names what the last one played."""
    last = latest_iteration(store, run)
    known: Sequence[str] = []
    for iteration in range((last or 0) + 1, 0, -1):  # one may be under way
        rows = stored_rows(store, run, iteration) or []
        names = list(dict.fromkeys(row.candidate.turn.episode_id for row in rows))
        if episode in names:
            return iteration
        known = known or names
    raise ConfigError(
        f"run {run!r} has no training episode {episode!r} in {store.uri}; its last ones: "
        f"{', '.join(known[:4]) or 'none'}. Held-out episodes are stored without their answers"
    )


def _last(store: Store, run: str, iteration: int, step: str, output: str) -> str | None:
    """The newest manifest of the step that has the output."""
    found = committed(store, run, iteration, step)
    keys = [key for key, manifest in found if output in manifest.outputs]
    return keys[-1] if keys else None


def _read(store: Store, key: str, output: str, row: type[records.Row]) -> list[Any]:
    with tempfile.TemporaryDirectory(prefix="rolewise-") as folder:
        path = Path(folder) / output
        path.write_bytes(read_output(store, key, output))
        return records.read_rows(path, row)
