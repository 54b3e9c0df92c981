"""Object storage behind one small protocol: `file://` folders and `s3://` buckets."""

from components.storage.store import Store, open_store

__all__ = ["Store", "open_store"]
