"""Answers of held-out play, kept in the store to be read and replayed; no later step needs them.

Training answers are records between steps; those of an evaluation would be gone after its metrics.
They lie at `runs/<run>/answers/<iteration>/<step>/<benchmark>.parquet`, as Scored rows.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from components import records
from components.records import Scored
from components.state import check_run
from components.storage import Store
from components.stored_records import read_stored

if TYPE_CHECKING:
    import pyarrow as pa

    from components.step import StepContext


CLOSING = "evaluate"
"""The step of the closing evaluation: it plays the team its iteration made."""
_ENDING = ".parquet"


def shown_as(step: str, benchmark: str) -> str:
    """What people read: `closing test`; `validation` is of the team that the iteration loaded."""
    return f"closing {benchmark}" if step == CLOSING else benchmark


def keep_answers(step: "StepContext", benchmark: str, scored: Sequence[Scored]) -> None:
    """Store what a step's play of a benchmark answered. Played again, it is replaced: by the same,
    but for `validation/reference`, whose team may be another champion by then."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        records.write(path, Scored, scored)
        key = f"{_prefix(step.run, step.iteration)}{step.name}/{benchmark}{_ENDING}"
        step.store.upload_file(path, key)


def kept_answers(store: Store, run: str, iteration: int) -> dict[tuple[str, str], "pa.Table"]:
    """(step, benchmark) -> Scored rows; empty for runs that kept none."""
    return {name: read_kept(store, run, iteration, *name) for name in kept(store, run, iteration)}


def kept(store: Store, run: str, iteration: int) -> list[tuple[str, str]]:
    """(step, benchmark) of all that `read_kept` can be asked for."""
    prefix = _prefix(run, iteration)
    names = [key.removeprefix(prefix).removesuffix(_ENDING) for key in store.list(prefix)]
    return [(step, benchmark) for step, _, benchmark in (name.partition("/") for name in names)]


def read_kept(store: Store, run: str, iteration: int, step: str, benchmark: str) -> "pa.Table":
    """Scored rows of one play. RecordError or StorageError for a damaged file."""
    return read_stored(store, f"{_prefix(run, iteration)}{step}/{benchmark}{_ENDING}", Scored)


def _prefix(run: str, iteration: int) -> str:
    return f"runs/{check_run(run)}/answers/{iteration:06d}/"
