"""One folder whose files lie on several nodes: every node uploads its own.

ZeRO leaves a part of the optimiser state on each node. The nodes tell one another their files'
digests through object storage; the folder's name is the digest of all of them, as if one node had
uploaded it, and its manifest is written last.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from components.errors import StorageError
from components.policies import FolderRef
from components.storage import Store, removal
from components.storage.folders import MANIFEST, Entry, encode, manifest

PAUSE_S = 2.0
PATIENCE_S = 3600.0
"""For the slowest node's upload. A node that dies ends the TrainJob long before."""


@dataclass(frozen=True)
class Meeting:
    """Where the nodes of one attempt tell one another what they have."""

    store: Store
    prefix: str
    """Ends with `/`; of this attempt and this folder alone."""
    node: int
    num_nodes: int
    pause_s: float = PAUSE_S
    patience_s: float = PATIENCE_S

    def gather(self, topic: str, data: bytes) -> list[bytes]:
        """What every node says on a topic, in their order; waits for all."""
        self.store.write(f"{self.prefix}{topic}/{self.node:06d}", data)
        keys = [f"{self.prefix}{topic}/{node:06d}" for node in range(self.num_nodes)]
        self._await(lambda: set(keys) <= set(self.store.list(f"{self.prefix}{topic}/")), topic)
        return [self.store.read(key) for key in keys]

    def _await(self, holds: Callable[[], bool], topic: str) -> None:
        end = time.monotonic() + self.patience_s
        while not holds():
            if time.monotonic() > end:
                raise StorageError(
                    f"{self.store.uri}/{self.prefix}{topic}: not all of {self.num_nodes} nodes "
                    f"have written theirs after {self.patience_s:.0f} s"
                )
            time.sleep(self.pause_s)


def upload_shards(meeting: Meeting, folder: Path, prefix: str) -> FolderRef:
    """Store the union of all nodes' `folder` under its digest; every node must call it."""
    mine = manifest(folder) if any(path.is_file() for path in folder.rglob("*")) else []
    said = meeting.gather("files", json.dumps([asdict(entry) for entry in mine]).encode())
    parts = [[Entry(**item) for item in json.loads(data)] for data in said]
    data = encode(entries := merged(parts))
    digest = hashlib.sha256(data).hexdigest()
    base = f"{prefix}/{digest}"
    store = meeting.store
    removal.claim(store, base, "uploaded again")
    if not store.exists(f"{base}/{MANIFEST}"):
        for entry in mine:
            store.upload_file(folder / entry.path, f"{base}/{entry.path}", known=True)
    meeting.gather("uploaded", digest.encode())
    if meeting.node == 0:
        store.write(f"{base}/{MANIFEST}", data)
    return FolderRef(f"{store.uri}/{base}", digest, sum(entry.bytes for entry in entries))


def merged(parts: Sequence[Sequence[Entry]]) -> list[Entry]:
    """All files, sorted by path. StorageError if two nodes have one path with other contents."""
    found: dict[str, Entry] = {}
    for node, part in enumerate(parts):
        for entry in part:
            if found.setdefault(entry.path, entry) != entry:
                raise StorageError(
                    f"optimiser state: node {node} has another {entry.path} than a node before it"
                )
    if not found:
        raise StorageError("optimiser state: no node has any file")
    return sorted(found.values(), key=lambda entry: entry.path)
