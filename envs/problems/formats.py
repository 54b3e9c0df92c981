"""Bytes of a problem file to numbered rows and back: JSONL, gzipped JSONL, Parquet.

The file's name says the format. What a row must contain is not checked here.
"""

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from envs.problems.rows import Limits

Numbered = Iterator[tuple[int, Any]]
"""(row counted from 1, the row as JSON values)."""
_BATCH = 64
"""Parquet rows in memory at a time, before they are checked."""


def parse(name: str, data: bytes, limits: Limits) -> Numbered:
    """Rows in order. ValueError names the file, the row where there is one, and what is wrong."""
    reader, _ = _format(name)
    for number, row in reader(name, data, limits):
        if number > limits.num_rows:
            raise ValueError(f"{name}: more than {limits.num_rows} rows, expected fewer")
        yield number, row


def serialise(name: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The same rows always give the same bytes."""
    _, writer = _format(name)
    return writer(rows)


def check_name(name: str) -> None:
    """ValueError unless the name ends like a format that can be read and written."""
    _format(name)


def _read_jsonl(name: str, data: bytes, limits: Limits) -> Numbered:
    for number, line in enumerate(io.BytesIO(data), 1):
        if len(line) > limits.row_bytes:
            raise ValueError(_oversized(name, number, len(line), limits))
        try:
            row = json.loads(line.decode("utf-8"))
            if b"\\u" in line:  # an escape may be half of a character
                json.dumps(row, ensure_ascii=False).encode("utf-8")
            yield number, row
        except (ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"{name}, row {number}: not a line of JSON ({reason})") from error


def _read_gzip(name: str, data: bytes, limits: Limits) -> Numbered:
    try:
        with gzip.open(io.BytesIO(data)) as file:
            plain = file.read(limits.file_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name}: not a whole gzip file ({error})") from error
    if len(plain) > limits.file_bytes:
        raise ValueError(f"{name}: more than {limits.file_bytes} bytes after decompression")
    yield from _read_jsonl(name, plain, limits)


def _read_parquet(name: str, data: bytes, limits: Limits) -> Numbered:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        meta = file.metadata
        size = sum(meta.row_group(group).total_byte_size for group in range(meta.num_row_groups))
        if size > limits.file_bytes:
            raise ValueError(f"{name}: {size} bytes after decompression, expected at most "
                             f"{limits.file_bytes}")  # fmt: skip
        for batch in file.iter_batches(batch_size=_BATCH):
            large = batch.nbytes > limits.row_bytes
            for row in batch.to_pylist():
                number += 1
                if large and (length := len(json.dumps(row, default=str))) > limits.row_bytes:
                    raise ValueError(_oversized(name, number, length, limits))
                yield number, {key: value for key, value in row.items() if value is not None}
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{name}: cannot be read as Parquet after row {number} ({reason})") from (
            error
        )


def _write_jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _write_gzip(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return gzip.compress(_write_jsonl(rows), mtime=0)


def _write_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [pa.array([row.get(name) for row in rows]) for name in names]
    pq.write_table(pa.table(columns, names=names), sink, compression="zstd")
    return sink.getvalue()


def _oversized(name: str, number: int, size: int, limits: Limits) -> str:
    return f"{name}, row {number}: {size} bytes, expected at most {limits.row_bytes}"


_Reader = Callable[[str, bytes, Limits], Numbered]
_Writer = Callable[[Sequence[Mapping[str, Any]]], bytes]
_FORMATS: Mapping[str, tuple[_Reader, _Writer]] = {
    ".jsonl": (_read_jsonl, _write_jsonl),
    ".jsonl.gz": (_read_gzip, _write_gzip),
    ".parquet": (_read_parquet, _write_parquet),
}


def _format(name: str) -> tuple[_Reader, _Writer]:
    for suffix, pair in _FORMATS.items():
        if name.endswith(suffix):
            return pair
    raise ValueError(f"{name}: unknown kind of file, expected a name ending in {list(_FORMATS)}")
