"""What the step leaves in object storage for the nodes, and what they leave for it.

All lies beside the step's own outputs, under the digest of its inputs, so a step that is repeated
finds the work of the one before. What belongs to one TrainJob lies under the name of its attempt.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from components.errors import StorageError
from components.state import TrainingState, load_state, save_state
from components.storage import Store
from components.update.exchange import Updated


@dataclass(frozen=True)
class Order:
    """The work of one TrainJob."""

    config: str
    """The resolved configuration."""
    run: str
    iteration: int
    step: str
    policies: Sequence[str]
    """To train, one after another."""


@dataclass(frozen=True)
class Desk:
    """Where an order lies: a folder of keys in a store."""

    store: Store
    prefix: str
    """Ends with `/`."""

    def place(self, order: Order, state: TrainingState, samples: str, scratch: Path) -> None:
        """Write the order and what it needs; the order itself comes last."""
        save_state(scratch / "state.json", state)
        self.store.upload_file(scratch / "state.json", self.prefix + "state.json")
        self.store.upload_file(samples, self.prefix + "samples")
        self.store.write(self.prefix + "order.json", json.dumps(asdict(order)).encode())

    def take(self, folder: Path) -> tuple[Order, TrainingState, str]:
        """The order, its state, and the path of its samples, copied into `folder`."""
        try:
            order = Order(**json.loads(self.store.read(self.prefix + "order.json")))
        except (TypeError, ValueError) as error:
            raise StorageError(f"{self.store.uri}/{self.prefix}order.json: {error}") from error
        for name in ("state.json", "samples"):
            self.store.download_file(self.prefix + name, folder / name)
        return order, load_state(folder / "state.json"), str(folder / "samples")

    def clear(self) -> None:
        """Remove what only the nodes needed; the result stays."""
        for key in self.store.list(self.prefix):
            if key != self.prefix + "result.json":
                self.store.delete(key)

    def finish(self, results: Mapping[str, Updated]) -> None:
        """Write the result: from now on the order is done."""
        content = {name: item.to_json() for name, item in results.items()}
        self.store.write(self.prefix + "result.json", json.dumps(content, sort_keys=True).encode())

    def result(self) -> dict[str, Updated] | None:
        """Policy -> what became of it; None while the order is not done."""
        if not self.store.exists(self.prefix + "result.json"):
            return None
        content = json.loads(self.store.read(self.prefix + "result.json"))
        return {name: Updated.from_json(value) for name, value in content.items()}

    def fail(self, attempt: str, node: int, text: str) -> None:
        """Leave a node's fault for the step."""
        fault = {"node": node, "text": text, "unix_s": time.time()}
        self.store.write(f"{self.prefix}{attempt}/faults/{node}", json.dumps(fault).encode())

    def fault(self, attempt: str) -> str | None:
        """The first fault of an attempt: those of other nodes are mostly its echo."""
        keys = self.store.list(f"{self.prefix}{attempt}/faults/")
        faults = sorted(
            (json.loads(self.store.read(key)) for key in keys), key=lambda x: x["unix_s"]
        )
        return f"node {faults[0]['node']}: {faults[0]['text']}" if faults else None

    def report(self, attempt: str, line: str) -> None:
        """Replace the progress line that the step shows."""
        self.store.write(f"{self.prefix}{attempt}/progress", line.encode())

    def progress(self, attempt: str) -> str | None:
        """The last progress line of an attempt."""
        key = f"{self.prefix}{attempt}/progress"
        return self.store.read(key).decode() if self.store.exists(key) else None
