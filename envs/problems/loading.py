"""Reading and writing a problem file as a whole.

A file that is not exactly as pinned, or not right in every row, is not used at all.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256 as digest_of
from typing import Any, TypeVar

from envs.problems import formats, places
from envs.problems.problem_set import Problems, dump, make_problems
from envs.problems.rows import LIMITS, Limits, ProblemRow

RowT = TypeVar("RowT", bound=ProblemRow)


def load_problems(
    uri: str, schema: type[RowT], sha256: str | None = None, limits: Limits = LIMITS
) -> Problems[RowT]:
    """The problems in the file at `uri`, checked against `schema`.

    ValueError names file, row and field, what was found and what was expected; also if `sha256`
    is given and is not the file's.
    """
    formats.check_name(uri)
    if sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ValueError(f"{uri}: sha256 is {sha256!r}, expected 64 lower-case hexadecimal digits")
    data = places.fetch(uri, limits.file_bytes, sha256)
    found = digest_of(data).hexdigest()
    if sha256 is not None and found != sha256:
        raise ValueError(
            f"{uri}: its sha256 is {found}, expected {sha256} as pinned; the file has changed, or "
            "the option sha256 belongs to another file"
        )
    return _checked(_Bytes(data, found), uri, schema, limits)


def write_problems(uri: str, rows: Sequence[ProblemRow], limits: Limits = LIMITS) -> str:
    """Write the rows to `uri` and return the file's sha256; it is read back first, as a check."""
    formats.check_name(uri)
    if not rows:
        raise ValueError(f"{uri}: no rows to write, expected 1 or more")
    data = formats.serialise(uri, [dump(row) for row in rows])
    digest = digest_of(data).hexdigest()
    if len(data) > limits.file_bytes:
        raise ValueError(f"{uri}: {len(data)} bytes, expected at most {limits.file_bytes}")
    _check_read_back(
        uri, rows, make_problems(formats.parse(uri, data, limits), type(rows[0]), uri, digest)
    )
    places.store(uri, data)
    return digest


def _check_read_back(uri: str, rows: Sequence[ProblemRow], read: Problems[Any]) -> None:
    for number, (row, same) in enumerate(zip(rows, read.by_key.values(), strict=True), 1):
        if same.model_copy(update={"split": row.split}) != row:
            raise ValueError(f"{uri}, row {number}: this kind of file cannot keep its values")


class _Bytes:
    """Bytes that are compared by their digest, so that a file is checked once per process."""

    def __init__(self, data: bytes, digest: str) -> None:
        self.data: bytes | None = data
        self.digest = digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bytes) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@lru_cache(maxsize=4)
def _checked(file: _Bytes, uri: str, schema: type[Any], limits: Limits) -> Problems[Any]:
    data, file.data = file.data or b"", None  # the cache keeps the digest alone
    return make_problems(formats.parse(uri, data, limits), schema, uri, file.digest)
