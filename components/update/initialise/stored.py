"""Bases that lie in storage under their digest, as `import-model` and runs leave them.

Every file is verified, and what lies elsewhere is fetched once per machine.
"""

import re
from pathlib import Path

from components.policies import FolderRef
from components.settings import StorageConfig
from components.storage import open_store
from components.storage.folders import MANIFEST

_DIGEST = re.compile(r"[0-9a-f]{64}")


def stored_folder(uri: str, storage: StorageConfig, cache: Path) -> Path | None:
    """The local, verified folder of `file://` or `s3://.../<digest>`; None for other folders.

    StorageError names a file that is not as the digest says.
    """
    place, _, digest = uri.rstrip("/").rpartition("/")
    if not _DIGEST.fullmatch(digest):
        return None
    store = open_store(storage.model_copy(update={"uri": place}))
    if not store.exists(f"{digest}/{MANIFEST}"):
        return None
    return store.download_folder(FolderRef(uri.rstrip("/"), digest, 0), cache)
