"""What one training process is told: a small JSON file, with the paths of local folders.

A job reads folders and one data file and leaves `policy/`, `optimizer/` and `metrics.json` in its
own folder. It knows nothing of object storage, runs or tracking. Imports no model library.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from components.settings import UpdateConfig


@dataclass(frozen=True)
class Job:
    """Train one policy in one folder."""

    kind: Literal["reinforce", "imitate"]
    """reinforce: Eq. 2 on a Sample record. imitate: cross-entropy on demonstrations."""
    step: str
    """Name in progress lines, e.g. `update-tool`."""
    policy: str
    policy_version: str
    """Tag of the weights in `folder`: reinforce refuses samples of others."""
    folder: str
    """The policy: weights with tokenizer, or an adapter if there is a base."""
    data: str
    """reinforce: Parquet of Sample rows. imitate: JSON of demonstrations."""
    out: str
    seed: int
    settings: UpdateConfig
    base: str | None = None
    """Folder of the frozen base of an adapter."""
    optimizer: str | None = None
    """Folder of the optimiser state to go on from."""
    reference: str | None = None
    """Folder of the policy the run began with, for the KL penalty."""
    exact_sampler: bool = True
    """Whether the sampler ran in fp32, so that its log-probs are the policy's own."""
    probe: bool = False
    """Whether to write down log-probs before and after, for servers that load the policy."""
    total_steps: int = 0
    """imitate: optimiser steps; the learning rate falls linearly to 5 % over them."""

    @property
    def policy_out(self) -> Path:
        """Where the trained policy is left."""
        return Path(self.out) / "policy"

    @property
    def optimizer_out(self) -> Path:
        """Where the optimiser state is left."""
        return Path(self.out) / "optimizer"

    @property
    def probe_out(self) -> Path:
        """Where the probe of the trained policy is left."""
        return Path(self.out) / "probe.json"

    def metrics(self) -> dict[str, float]:
        """What the finished job measured; names without prefix."""
        content: dict[str, float] = json.loads((Path(self.out) / "metrics.json").read_text())
        return content

    def save_metrics(self, metrics: dict[str, float]) -> None:
        """Write them for `metrics`."""
        (Path(self.out) / "metrics.json").write_text(json.dumps(metrics, sort_keys=True))

    def to_json(self) -> str:
        """`from_json` is its inverse."""
        return json.dumps({**asdict(self), "settings": self.settings.model_dump(mode="json")})

    @staticmethod
    def from_json(text: str) -> "Job":
        """A job as another process wrote it."""
        content: dict[str, Any] = json.loads(text)
        return Job(**{**content, "settings": UpdateConfig(**content["settings"])})
