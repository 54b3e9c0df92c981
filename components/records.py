"""Schemas of all data between steps, and the read and write that verify them.

Each record is a Parquet file with one row type; a step adds columns and never edits or drops
rows. Row types nest: a Scored holds its Candidate, which holds its Turn; on disk they are flat.
"""

import dataclasses
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from components.engine import FinishReason
from components.errors import RecordError
from envs.base import Message, Status

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Turn:
    """One prompt to answer. Written by env_execution."""

    episode_id: str
    """`<task_id>` in tree sampling, `<task_id>#<replica>` in parallel sampling."""
    task_id: str
    env: str
    node: str
    """The parent node. Tree: the chosen candidates from the root, e.g. `2.0.3`, root ``.
    Parallel sampling: the digest of the prompt, so that only equal prompts share a node."""
    turn: int
    """From 0."""
    role: str
    policy: str
    """The policy that plays the role: a key of the team's policies."""
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Candidate:
    """One sampled answer to a turn. Written by rollout."""

    turn: Turn
    candidate: int
    """0 .. K - 1 within (task, node, turn, role)."""
    seed: int
    temperature: float
    top_p: float
    top_k: int
    max_new_tokens: int
    policy_version: str
    prompt_ids: tuple[int, ...]
    """[num_prompt_tokens]"""
    completion_ids: tuple[int, ...]
    """[num_tokens], as the engine drew them."""
    logprobs: tuple[float, ...]
    """[num_tokens]"""
    text: str
    finish_reason: FinishReason
    error: str | None
    """Why generation failed; None for an answer."""


@dataclass(frozen=True)
class Scored:
    """A judged answer. Written by env_execution."""

    candidate: Candidate
    reward: float | None
    """alpha * team + sum of local parts; None for a failed generation or an unjudged answer."""
    reward_parts: dict[str, float] | None
    """`team` and `local/<part>`; None for a failed generation."""
    chosen: bool
    """Whether the episode went on from this answer."""
    status: Status
    """The episode's status after this answer, had it been chosen."""


@dataclass(frozen=True)
class Sample:
    """A training sample. Written by grouping."""

    scored: Scored
    group_id: int
    """0 .. num_groups - 1, dense."""
    advantage: float | None
    """None for a failed generation."""
    weight: float
    """Multiplies the sample's loss: 1, or 0 if excluded."""


@dataclass(frozen=True)
class Episode:
    """How one episode ended. Written by env_execution and evaluation."""

    episode_id: str
    task_id: str
    env: str
    benchmark: str
    """`train`, or the benchmark's name (`validation`, `test`, `validation/swapped`)."""
    seed: int
    num_turns: int
    """Turns begun, at least 1."""
    status: Status
    team_reward: float
    """Team reward of the last executed action; 0 if none was executed."""


Row = Turn | Candidate | Scored | Sample | Episode

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
_PARTS = pa.map_(pa.string(), pa.float64())
_ARROW: dict[Any, pa.DataType] = {
    str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(),
    Status: pa.string(), FinishReason: pa.string(),
    str | None: pa.string(), float | None: pa.float64(), dict[str, float] | None: _PARTS,
    tuple[Message, ...]: _MESSAGES,
    tuple[int, ...]: pa.list_(pa.int32()), tuple[float, ...]: pa.list_(pa.float32()),
}  # fmt: skip
_NO_SOURCE = "Could not open Parquet input source"
"""How Arrow begins; the path behind it may be that of a copy that is gone when it is read."""
_NULLABLE = (str | None, float | None, dict[str, float] | None)


def schema(row: type[Row]) -> pa.Schema:
    """The flat Arrow schema of a row type, with the schema version in its metadata."""
    fields = [
        pa.field(name, _ARROW[hint], nullable=hint in _NULLABLE) for name, hint in _columns(row)
    ]
    return pa.schema(fields, {"record": row.__name__, "schema_version": str(SCHEMA_VERSION)})


def to_table(row: type[Row], rows: Iterable[Row]) -> pa.Table:
    """Rows as a table of the record's schema; an empty sequence gives an empty table."""
    flat = [_flatten(item) for item in rows]
    columns = {name: [item[name] for item in flat] for name, _ in _columns(row)}
    return pa.table(columns, schema=schema(row))


def from_table(row: type[Row], table: pa.Table) -> list[Any]:
    """The table's rows as objects of the row type."""
    return [_unflatten(row, item) for item in table.to_pylist(maps_as_pydicts="strict")]


def write(path: str | Path, row: type[Row], rows: Sequence[Row] | pa.Table) -> None:
    """Write a record atomically: a reader sees the whole file or none.

    RecordError for a table of other columns, a null where none may be, a float that is not finite.
    """
    table = rows if isinstance(rows, pa.Table) else to_table(row, rows)
    if not table.schema.equals(schema(row), check_metadata=False):
        raise RecordError(
            f"{path}: not a {row.__name__} table; {_difference(table.schema, schema(row))}"
        )
    _check_values(path, row, table)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(target.name + ".partial")
    try:
        pq.write_table(
            table.replace_schema_metadata(schema(row).metadata),
            scratch,
            compression="zstd",
            write_page_checksum=True,
        )
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def read(path: str | Path, row: type[Row], source: str | None = None) -> pa.Table:
    """The table at `path`; errors call it `source`, of a copy the URI that it was fetched from.

    RecordError if it is missing or damaged, is another record or version, or has forbidden values.
    """
    name = source or str(path)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].removeprefix(f"{_NO_SOURCE} '{path}': ")
        raise RecordError(f"{name}: cannot be read as a {row.__name__} record: {reason}") from error
    metadata = table.schema.metadata or {}
    found = (
        metadata.get(b"record", b"none").decode(errors="replace"),
        metadata.get(b"schema_version", b"none").decode(errors="replace"),
    )
    expected = (row.__name__, str(SCHEMA_VERSION))
    if found != expected:
        raise RecordError(f"{name}: record and schema_version are {found}, expected {expected}")
    if not table.schema.equals(schema(row), check_metadata=False):
        raise RecordError(f"{name}: {_difference(table.schema, schema(row))}")
    _check_values(name, row, table)
    return table


def read_rows(path: str | Path, row: type[Row]) -> list[Any]:
    """`read`, as objects of the row type."""
    return from_table(row, read(path, row))


def _nested(row: type[Row]) -> dict[str, type[Row]]:
    hints = get_type_hints(row)
    return {name: hint for name, hint in hints.items() if hint in (Turn, Candidate, Scored)}


def _columns(row: type[Row]) -> list[tuple[str, Any]]:
    """(name, type) of the flat columns, inner row first."""
    columns: list[tuple[str, Any]] = []
    for name, hint in get_type_hints(row).items():
        columns += _columns(hint) if name in _nested(row) else [(name, hint)]
    return columns


def _flatten(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for field in dataclasses.fields(row):
        value = getattr(row, field.name)
        if dataclasses.is_dataclass(value):
            flat |= _flatten(value)  # type: ignore[arg-type]
        else:
            flat[field.name] = value
    return flat


def _unflatten(row: type[Row], flat: dict[str, Any]) -> Row:
    nested = _nested(row)
    values: dict[str, Any] = {}
    for name, hint in get_type_hints(row).items():
        if name in nested:
            values[name] = _unflatten(nested[name], flat)
        elif hint in (Status, FinishReason):
            values[name] = hint(flat[name])
        elif isinstance(flat[name], list):
            values[name] = tuple(flat[name])
        else:
            values[name] = flat[name]
    return row(**values)


def _check_values(path: str | Path, row: type[Row], table: pa.Table) -> None:
    """RecordError naming the first column with a forbidden null, a number that is not finite, or
    an ending that there is none of."""
    for name, hint in _columns(row):
        if hint in (Status, FinishReason):
            known: list[str] = [*hint]
            unknown = [value for value in table[name].unique().to_pylist() if value not in known]
            if unknown:
                raise RecordError(
                    f"{path}: column {name!r} has {unknown[0]!r}, expected one of "
                    f"{', '.join(known)}"
                )
    for field in table.schema:
        column = table[field.name]
        if not field.nullable and column.null_count:
            at = pc.index(pc.is_null(column), True).as_py()
            raise RecordError(f"{path}: column {field.name!r} is null in row {at}")
        values: Any = column
        while pa.types.is_list(values.type):
            values = pc.list_flatten(values)
        inner = values.flatten() if pa.types.is_struct(values.type) else [values]
        if not field.nullable and any(part.null_count for part in inner):
            raise RecordError(f"{path}: column {field.name!r} has a null inside a row")
        if pa.types.is_floating(values.type):
            finite = pc.is_finite(values)
            if not pc.all(finite, min_count=0).as_py():
                value = values[pc.index(finite, False).as_py()]
                raise RecordError(
                    f"{path}: column {field.name!r} has {value}, expected finite numbers"
                )


def _difference(found: pa.Schema, expected: pa.Schema) -> str:
    """The first column that differs, in words."""
    for field in expected:
        if field.name not in found.names:
            return f"column {field.name!r} is missing, expected {field.type}"
        if not found.field(field.name).equals(field):
            got = found.field(field.name)
            return f"column {field.name!r} is {_type(got)}, expected {_type(field)}"
    extra = sorted(set(found.names) - set(expected.names))
    return f"unexpected columns {extra}" if extra else "columns are in another order"


def _type(field: Any) -> str:
    return f"{field.type}{'' if field.nullable else ' not null'}"
