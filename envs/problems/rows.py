"""What every row of a problem file has, and its faults as one sentence each.

Which further fields a row has, and what makes two rows the same problem, is the environment's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from envs.base import Split
from envs.splits import split_of

_SHOWN = 80
"""Characters of a wrong value that a sentence repeats."""


@dataclass(frozen=True)
class Limits:
    """What is refused as oversized."""

    file_bytes: int = 2**30
    """After decompression."""
    num_rows: int = 2_000_000
    row_bytes: int = 16 * 2**20
    """Of one row as JSON."""


LIMITS = Limits()


class ProblemRow(BaseModel):
    """Base of an environment's rows: frozen, unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    split: Split | None = None
    """None: the digest of the content decides, 8 : 1 : 1."""

    def content(self) -> str:
        """What makes it this problem: two rows with one content are duplicates."""
        fields = self.model_dump(mode="json", exclude={"split"})
        return json.dumps(fields, sort_keys=True)

    @property
    def key(self) -> str:
        """Digest of the content: the problem's name wherever the row itself is not needed."""
        return blake2b(self.content().encode(), digest_size=12).hexdigest()


RowT = TypeVar("RowT", bound=ProblemRow)


def parse_row(schema: type[RowT], fields: Any, where: str) -> RowT:
    """The checked row, with its split. `where` names file and row in the ValueError."""
    if not isinstance(fields, Mapping):
        raise ValueError(f"{where}: got {_shown(fields)}, expected an object with named fields")
    try:
        row = schema.model_validate(dict(fields))
    except ValidationError as error:
        raise ValueError(f"{where}, {_sentence(schema, error.errors()[0])}") from error
    return row if row.split else row.model_copy(update={"split": split_of(row.content())})


def _sentence(schema: type[ProblemRow], fault: Any) -> str:
    field = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"field {field}: unknown, expected only {sorted(schema.model_fields)}"
    if fault["type"] == "missing":
        return f"field {field}: missing, expected a value"
    reason = " ".join(fault["msg"].removeprefix("Value error, ").split())
    if not field:
        return reason
    return f"field {field}: got {_shown(fault['input'])}, expected: {reason}"


def _shown(value: Any) -> str:
    text = repr(value).encode("ascii", "backslashreplace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
