"""Records in object storage: an object, or a step's committed output, as a verified table."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from components import records
from components.manifests import output_key, read_output
from components.storage import Store

if TYPE_CHECKING:
    import pyarrow as pa


def read_stored(store: Store, key: str, row: type[records.Row]) -> "pa.Table":
    """The record at a key. StorageError if it is absent, RecordError as in `records.read`, with
    the record's URI."""
    with TemporaryDirectory(prefix="rolewise-") as folder:
        path = Path(folder) / "record"
        store.download_file(key, path)
        return records.read(path, row, f"{store.uri}/{key}")


def read_committed(
    store: Store, manifest_key: str, output: str, row: type[records.Row]
) -> "pa.Table":
    """A committed output, also compared with the digest in its manifest."""
    with TemporaryDirectory(prefix="rolewise-") as folder:
        path = Path(folder) / output
        path.write_bytes(read_output(store, manifest_key, output))
        return records.read(path, row, f"{store.uri}/{output_key(manifest_key, output)}")
